"""The recipes of a model, and the layout that each sets."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import NamedTuple

from jobspec.frameworks.bridge_recipes import RECIPE_KINDS, is_benchmark, known, meant_by
from jobspec.resources import read_package_text


class RecipeLayout(NamedTuple):
    """What a recipe sets where its source says it as a literal; ``None`` where it does not."""

    gpus: int
    tp: int
    pp: int
    vpp: int | None = None
    cp: int | None = None
    ep: int | None = None
    etp: int | None = None
    sp: bool | None = None
    seq: int | None = None
    gbs: int | None = None
    mbs: int | None = None

    @property
    def parallelism(self) -> dict[str, int | bool]:
        """The sizes as a manifest has them, without those that it takes by itself."""
        sizes = {"tp": self.tp, "pp": self.pp, "vpp": self.vpp, "cp": self.cp, "ep": self.ep, "etp": self.etp}
        said: dict[str, int | bool] = {key: size for key, size in sizes.items() if size and (size > 1 or key == "tp")}
        if self.sp is not None and self.sp != (self.tp > 1):
            said["sp"] = self.sp
        return said


@cache
def _layouts() -> dict[str, RecipeLayout]:
    found = json.loads(read_package_text("frameworks", "bridge_layouts.json"))["layouts"]
    return {name: RecipeLayout(**sizes) for name, sizes in found.items()}


def layout_of(recipe: str) -> RecipeLayout | None:
    """Return the layout of a recipe, also under an older name."""
    return _layouts().get(meant_by(recipe))


def recipes_of(model: str, task: str) -> list[str]:
    """Return the recipes of the library for a model and a task, the plainest name first.

    Models are found by their names, whatever separates the parts: ``llama3.1-8b`` is ``llama31_8b`` there.
    """
    letters = re.sub(r"[^a-z0-9]", "", model.lower())
    spelled = "_?".join(map(re.escape, letters))
    # A size may follow, such as `_106b_a12b`; any other word is another model's.
    form = re.compile(rf"{spelled}((?:_\d+b)?(?:_a\d+b)?)_{RECIPE_KINDS.get(task, task)}_(?:.*_)?config")
    found = {name: match[1] for name in known() if (match := form.fullmatch(name)) and not is_benchmark(name)}
    if len(set(found.values())) > 1:  # a family of models, of which nobody knows the one that is meant
        return []
    return sorted(found, key=lambda name: (len(name), name))
