"""The ranks that torch's agent starts on a node."""

from __future__ import annotations

import re
from typing import Any

_AGENT = re.compile(r"torch\.distributed\.(?:run|launch)\Z")
_FLAG = re.compile(r"--?(nnodes|nproc[-_]per[-_]node|node[-_]rank|standalone)(?:=(.*))?\Z")
_NO_VALUE = ("-m", "--module", "--no-python", "--no_python", "--standalone", "--run-path", "--run_path")


def workers_of(argv: list[str]) -> dict[str, Any] | None:
    """Return the ranks of the workers that a command of torchrun starts, ``None`` where it is none.

    Sizes that are no numbers, such as ``gpu`` or ``1:4``, are given as they are, and the ranks are then unknown
    (torch/distributed/run.py, get_args_parser).
    """
    start = next((index for index, word in enumerate(argv) if word.endswith("torchrun") or _AGENT.match(word)), None)
    if start is None:
        return None
    flags: dict[str, str] = {"nnodes": "1", "nproc-per-node": "1", "node-rank": "0"}
    words = argv[start + 1 :]
    while words and words[0].startswith("-"):
        word = words.pop(0)
        found = _FLAG.match(word)
        name = found[1].replace("_", "-") if found else ""
        if name in flags and found:
            value = found[2] if found[2] is not None else words.pop(0) if words else ""
            flags[name] = value
        elif "=" not in word and word not in _NO_VALUE and words and not re.match(r"-|.*\.py\Z|.*/", words[0]):
            words.pop(0)  # the value of another option
    nodes, workers, node = (flags[name] for name in ("nnodes", "nproc-per-node", "node-rank"))
    known = all(value.isdigit() for value in (nodes, workers, node))
    return {
        "nodes": int(nodes) if nodes.isdigit() else nodes,
        "per_node": int(workers) if workers.isdigit() else workers,
        "first_rank": int(node) * int(workers) if known else None,
        "world_size": int(nodes) * int(workers) if known else None,
    }
