"""Write down what the frameworks themselves say of random jobs: ``python -m tests.oracle.generate mlm COUNT SOURCE``.

Each line of the data is one job: its values, and where it is refused the stage and the error. What is judged is the
command line that jobspec prints for it, whether its own rules take the job or not.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from jobspec.frameworks import FRAMEWORKS
from jobspec.spec.model import Spec
from tests.oracle.samples import draw, manifest
from tests.oracle.specs import spec_of

FOLDER = Path(__file__).parent

Judge = Callable[[Spec], dict[str, str]]


def main() -> None:
    """Generate the data of one framework."""
    framework, count, commit = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    judge = _of_megatron_lm() if framework == "mlm" else _of_megatron_bridge()
    random_ = random.Random(f"{framework} {commit}")
    found: Counter[str] = Counter()
    lines = [json.dumps({"source": commit, "count": count})]
    for _ in range(count):
        sample = draw(random_)
        said = judge(spec_of(manifest(sample, framework)))
        found[said.get("error", "taken")[:70]] += 1
        lines.append(json.dumps({**sample, **said}))
    (FOLDER / f"{framework}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for error, number in found.most_common():
        print(f"{number:6} {error}")


def _of_megatron_lm() -> Judge:
    from tests.oracle.megatron_lm import verdict

    return lambda spec: verdict(_words(spec), spec.layout.world)


def _of_megatron_bridge() -> Judge:
    from tests.oracle.megatron_bridge import verdict

    def judge(spec: Spec) -> dict[str, str]:
        overrides = [word for word in _words(spec) if "=" in word]
        return verdict(overrides, spec.model._asdict(), spec.layout.world)

    return judge


def _words(spec: Spec) -> list[str]:
    """Return the words behind the program's name."""
    program = FRAMEWORKS[spec.framework].tasks[spec.task].program(spec)
    return [str(word) for word in program.main.argv][1:]


if __name__ == "__main__":
    main()
