"""Write down the groups of ranks that Megatron-LM makes: ``python -m tests.oracle.groups SOURCE``.

It asks the class that initialize_model_parallel asks, as that does, for layouts of all sizes; nothing is started.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path

from jobspec.spec.build import layout_of

FOLDER = Path(__file__).parent
ORDER = "tp-cp-ep-dp-pp"
SIZES = (1, 2, 3, 4, 8)
MOST = 48  # ranks: beyond them the pattern repeats, and the file is to be read


def main() -> None:
    """Generate the data."""
    from megatron.core.parallel_state import RankGenerator

    lines = [json.dumps({"source": sys.argv[1], "order": ORDER})]
    for tp, cp, pp, ep, etp in product((1, 2, 3, 4), (1, 2), SIZES, SIZES, (1, 2)):
        layout = layout_of({"tp": tp, "cp": cp, "pp": pp, "ep": ep, "etp": etp}, 0, "bridge", "pretrain")
        world = layout.smallest_world * (2 if layout.smallest_world * 2 <= MOST else 1)
        if world > MOST:
            continue
        edp = world // layout.expert_model_parallel
        dense = RankGenerator(tp=tp, ep=1, dp=world // layout.model_parallel, pp=pp, cp=cp, order=ORDER)
        expert = RankGenerator(tp=etp, ep=ep, dp=edp, pp=pp, cp=1, order=ORDER)
        groups = {name: dense.get_ranks(name) for name in ("tp", "cp", "dp", "pp")}
        groups |= {"etp": expert.get_ranks("tp"), "ep": expert.get_ranks("ep"), "edp": expert.get_ranks("dp")}
        sizes = {"world": world, "tp": tp, "cp": cp, "pp": pp, "ep": ep, "etp": etp}
        lines.append(json.dumps({**sizes, "groups": groups}, separators=(",", ":")))
    (FOLDER / "groups.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines) - 1} layouts")


if __name__ == "__main__":
    main()
