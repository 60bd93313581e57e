"""What nodes have told, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobspec.site.answers import NodeAnswers
from jobspec.site.deep import Deep
from jobspec.site.report import FAILURE, PASS, UNKNOWN, WARNING, Line
from jobspec.site.wanted import WRITTEN, Path
from jobspec.spec.model import Spec
from jobspec.values import show_list

#: Seconds between two clocks from which it is said; a step starts on all nodes within about one.
_SKEW = 5
#: Ports of jobs, as scripts choose them (targets/_parts/sbatch.sh.j2).
_PORTS = range(15000, 32000)

# What a node's word for a path means, and what to do.
_TROUBLE = {
    "missing": ("is not there", "mount its file system there, or exclude the node"),
    "no-folder": ("is no folder", "name a folder"),
    "read-only": ("cannot be written to", "name another folder, or have it made writable for you there"),
    "unreadable": ("cannot be read", "have it made readable for you"),
    "no-squashfs": ("is no squashfs file", "make one with `enroot import`, or correct `container.image`"),
}


def check_nodes(spec: Spec, paths: Sequence[Path], found: Deep) -> Iterator[Line]:
    """Yield what the job has found."""
    count = len(found.nodes)
    yield Line(PASS, "job", f"job {found.job} ran on {show_list(found.nodes)}", None, found.nodes)
    asked = {name: node for name, node in found.answers.items() if "write" in node.ended}
    silent = tuple(name for name in found.nodes if name not in asked)
    if silent:
        fix = "ask the site for the node, or exclude it: `slurm: {exclude: NODE}`"
        why = found.problems.get("write", "they said nothing")
        yield Line(FAILURE, "step", f"no step ran on {show_list(silent)}: {why}", fix, silent)
    if not asked:
        return
    broken = False
    for index, one in enumerate(paths):
        line = _path(index, one, asked)
        broken |= line.level == FAILURE and one.kind in ("image", "mount")
        yield line
    yield _clock(asked)
    yield _names(asked, found.nodes[0])
    yield from _launch(spec, found, broken=broken or bool(silent))
    yield from _ports(found, asked)
    if "mpi" in found.problems:
        fix = "ask the site for it, or take another `mpi` in the cluster file: `srun --mpi=list`"
        yield Line(FAILURE, "mpi", f"a step with --mpi={spec.cluster.mpi} fails: {found.problems['mpi']}", fix)
    elif spec.cluster.mpi not in (None, "none"):
        yield Line(PASS, "mpi", f"a step with --mpi={spec.cluster.mpi} starts on {_all(count)}")


def _path(index: int, one: Path, asked: dict[str, NodeAnswers]) -> Line:
    about = f"{one.what} `{one.path}`"
    good = "written" if one.kind in WRITTEN else "readable"
    for word, (trouble, fix) in _TROUBLE.items():
        where = tuple(name for name, node in asked.items() if node.paths.get(index) == word)
        if where:
            everywhere = len(where) == len(asked)
            if everywhere and word == "missing":
                fix = f"mkdir -p {one.path}" if one.kind == "logs" else "correct the path, or bring it there"
            return Line(FAILURE, one.kind, f"{about} {trouble} on {_which(where, asked)}", fix, where)
    untold = tuple(name for name, node in asked.items() if node.paths.get(index) != good)
    if untold:
        return Line(UNKNOWN, one.kind, f"{about}: {show_list(untold)} did not tell", None, untold)
    if one.kind in WRITTEN and len(asked) > 1:
        return _shared(index, one, about, asked)
    if one.kind in WRITTEN:
        return Line(PASS, one.kind, f"{about} is writable; one node does not tell whether others share it")
    return Line(PASS, one.kind, f"{about} is there on {_all(len(asked))}")


def _shared(index: int, one: Path, about: str, asked: dict[str, NodeAnswers]) -> Line:
    blind = tuple(name for name, node in asked.items() if set(node.unseen.get(index, ())) & set(asked))
    if blind:
        message = f"{about} is not shared: {show_list(blind)} does not see what other nodes have written"
        return Line(FAILURE, one.kind, message, "name a folder on a file system that all nodes share", blind)
    if any(index not in node.unseen for node in asked.values()):
        return Line(UNKNOWN, one.kind, f"{about} is writable; whether nodes share it they did not tell")
    return Line(PASS, one.kind, f"{about} is writable, and the same on {_all(len(asked))}")


def _clock(asked: dict[str, NodeAnswers]) -> Line:
    skews = {name: node.skew for name, node in asked.items() if node.skew is not None}
    if not skews:
        return Line(UNKNOWN, "clock", "no node told its time")
    off = {name: skew for name, skew in skews.items() if abs(skew) > _SKEW}
    if off:
        shown = show_list([f"{name} ({skew:+.0f} s)" for name, skew in off.items()])
        fix = "ask the site to synchronise the clocks (chrony)"
        return Line(FAILURE, "clock", f"clocks are not this host's: {shown}", fix, tuple(off))
    return Line(PASS, "clock", f"the clocks of {_all(len(skews))} agree with this host's within {_SKEW} s")


def _names(asked: dict[str, NodeAnswers], first: str) -> Line:
    lost = tuple(name for name, node in asked.items() if node.resolves is False)
    if lost:
        fix = f"ask the site for the names of nodes in DNS or /etc/hosts: MASTER_ADDR is `{first}`"
        return Line(FAILURE, "names", f"{show_list(lost)} has no address for `{first}`", fix, lost)
    if any(node.resolves is None for node in asked.values()):
        return Line(UNKNOWN, "names", "a node has no `getent` to ask with")
    return Line(PASS, "names", f"`{first}` has an address on {_all(len(asked))}")


def _launch(spec: Spec, found: Deep, *, broken: bool) -> Iterator[Line]:
    container = spec.container.enabled
    check = "container" if container else "launch"
    outside = tuple(name for name in found.nodes if not found.answers[name].inside)
    why = found.problems.get("launch", "srun said nothing")
    if outside and broken:
        yield Line(
            UNKNOWN, check, f"nothing started on {show_list(outside)}, for what fails above: {why}", None, outside
        )
    elif outside:
        fix = "see what pyxis and enroot say of the image" if container else "ask the site for the node"
        yield Line(FAILURE, check, f"nothing started on {show_list(outside)}: {why}", fix, outside)
    else:
        yield Line(PASS, check, f"a step starts {'in the container ' if container else ''}on {_all(len(found.nodes))}")
    yield from _uv(spec, found)
    for index, mount in enumerate(spec.container.mounts if container else ()):
        empty = tuple(name for name in found.nodes if found.answers[name].targets.get(index) is False)
        if empty:
            fix = "see the mounts of the site: enroot's own come before"
            yield Line(FAILURE, "mount", f"`{mount.target}` is not in the container on {show_list(empty)}", fix, empty)


def _uv(spec: Spec, found: Deep) -> Iterator[Line]:
    told = {name: node.uv for name, node in found.answers.items() if node.uv is not None}
    without = tuple(name for name, uv in told.items() if not uv)
    where = "in the image" if spec.container.enabled else "on the nodes"
    if not spec.launch.uv:
        return
    if not told:
        yield Line(UNKNOWN, "uv", "no node told whether it has uv")
    elif without:
        fix = "take an image with uv, or write `launch: {uv: false}` in the cluster file"
        yield Line(FAILURE, "uv", f"uv is not {where}", fix, without)
    else:
        yield Line(PASS, "uv", f"uv is {where}")


def _ports(found: Deep, asked: dict[str, NodeAnswers]) -> Iterator[Line]:
    yield _meeting(found)
    ephemeral = {node.ephemeral for node in asked.values() if node.ephemeral}
    lowest = min((first for first, _ in ephemeral), default=None)
    if lowest is not None and lowest < _PORTS.stop:
        message = f"nodes give ports from {lowest} on to outgoing connections, and jobs meet at {_PORTS.start} to 31999"
        fix = "ask the site for net.ipv4.ip_local_port_range from 32768 on"
        yield Line(WARNING, "port", f"{message}: now and then one is taken", fix)


def _meeting(found: Deep) -> Line:
    first, *others = found.nodes
    port, told = found.port, found.answers[first].meet
    if told == "taken" or port in found.answers[first].taken:
        fix = f"end what listens there (`ss -ltnp` on {first}), or exclude the node; the next job has another port"
        return Line(FAILURE, "port", f"port {port}, this job's MASTER_PORT, is taken on {first}", fix, (first,))
    if told == "no-python" or told is None:
        why = "there is no Python to listen with" if told else f"{first} did not listen"
        return Line(UNKNOWN, "port", f"MASTER_PORT: {why}")
    if not others:
        return Line(PASS, "port", f"port {port} is free on {first}; one node does not tell whether others reach it")
    lost = tuple(
        name for name in others if found.answers[name].meet in ("timeout", "refused", "no-address", "stranger")
    )
    if lost:
        words = sorted({found.answers[name].meet or "" for name in lost})
        fix = f"ask the site to open TCP ports {_PORTS.start} to 31999 between nodes"
        return Line(FAILURE, "port", f"{show_list(lost)} does not reach {first}:{port} ({', '.join(words)})", fix, lost)
    untold = tuple(name for name in others if found.answers[name].meet != "met")
    if untold:
        return Line(UNKNOWN, "port", f"MASTER_PORT: {show_list(untold)} did not try", None, untold)
    return Line(
        PASS,
        "port",
        f"{_others(len(others))} reach{'es' if len(others) == 1 else ''} {first}:{port}, this job's MASTER_PORT",
    )


def _which(where: Sequence[str], asked: dict[str, NodeAnswers]) -> str:
    return f"{_all(len(where))}" if len(where) == len(asked) else show_list(where)


def _others(count: int) -> str:
    return "the other node" if count == 1 else f"the other {count} nodes"


def _all(count: int) -> str:
    return {1: "the node", 2: "both nodes"}.get(count, f"all {count} nodes")
