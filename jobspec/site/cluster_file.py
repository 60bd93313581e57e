"""Write a cluster file of what Slurm says; what it does not say is a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobspec.site.gpu_kinds import Kind, kinds
from jobspec.site.gpus import product_of
from jobspec.site.mounts import FileSystem
from jobspec.site.slurm import Partition, Site
from jobspec.site.yaml_text import comment, flow, scalar
from jobspec.values import show_count

# As in schemas/v1/cluster.schema.json; a test holds both to each other.
_PARTITION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_ACCOUNT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")
_MPI = ("pmix", "pmi2")
_LONGEST_DAYS = 999
#: Partitions and accounts that are named in one comment.
_LISTED = 20


class Said(NamedTuple):
    """What the user said beside Slurm; ``None`` is nothing."""

    gpus_per_node: int | None = None
    image: str | None = None
    logs: str | None = None


class NotEnoughError(Exception):
    """Slurm says too little for a cluster file; the text says what, and what to do."""


def render(site: Site, folders: list[FileSystem], said: Said) -> str:
    """Return the text of a cluster file.

    Raises:
        NotEnoughError: there are no partitions, or nobody says how many GPUs a node has.
    """
    usable = [one for one in site.partitions if _PARTITION.fullmatch(one.name) and one.nodes]
    if not usable:
        raise NotEnoughError(f"there is no partition to write down: {site.unknown.get('partitions', 'none has nodes')}")
    found = kinds(site)
    count = said.gpus_per_node or (found[0][0].number if found else None)
    if not count:
        why = site.unknown.get("nodes", "no node has a gres of GPUs")
        raise NotEnoughError(f"nobody knows how many GPUs a node has ({why}): say it with --gpus-per-node N")
    main = found[0][0] if found else Kind(None, count)
    parts = [
        _head(site),
        _gpus(site, found, main, count, said),
        _partitions(site, usable, main),
        _mpi(site),
        _shared(folders),
        _resources(site, usable, main),
        _logs(folders, said),
        _container(site, folders, said),
        _caches(folders),
    ]
    return "\n".join("\n".join(part) + "\n" for part in map(list, parts))


def _head(site: Site) -> Iterator[str]:
    yield "# Written by `jobspec init --cluster`. A line that is a comment could not be found out, or is a guess."
    yield "# `jobspec schema cluster` describes every key; `jobspec doctor --cluster FILE` tells what has changed."
    yield "jobspec: v1"
    yield "kind: cluster"
    name = site.config.get("ClusterName")
    version = f"Slurm {site.version}" if site.version else "Slurm"
    yield f"description: {scalar(comment(f'Cluster {name}, {version}' if name else version))}"


def _gpus(site: Site, found: list[tuple[Kind, int]], main: Kind, count: int, said: Said) -> Iterator[str]:
    if site.nodes:
        yield f"nodes: {len(site.nodes)}"
    else:
        yield f"# nodes: not known ({comment(site.unknown.get('nodes', ''))})"
    if found and count != main.number:
        yield f"gpus_per_node: {count}   # as said; Slurm says {main.show()}"
    elif not found:
        yield f"gpus_per_node: {count}   # as said; Slurm says nothing of GPUs, and may refuse --gpus-per-node"
    else:
        yield f"gpus_per_node: {count}"
    for kind, nodes in found if len(found) > 1 else []:
        yield f"# {show_count(nodes, 'node')}: {comment(kind.show())}"
    if len(found) > 1:
        yield "# A cluster file describes one kind, here the one of the most nodes: write a file for each other one."
    yield from _product(main)


def _product(main: Kind) -> Iterator[str]:
    product = product_of(main.type)
    if product is None:
        word = f"the gres type `{comment(main.type)}` is not known" if main.type else "the site's gres has no type"
        yield f"# gpu: {{name: H100, architecture: hopper, memory_gib: 80}}   # not known: {word}"
        return
    facts = {"name": product.name} | ({"architecture": product.architecture} if product.architecture else {})
    yield f"gpu: {flow(facts)}   # from the gres type `{comment(main.type or '')}`"
    if product.architecture is None:
        yield "#   architecture: ampere, hopper and blackwell are the ones that jobspec has settings for"
    sold = " or ".join(f"{one}" for one in product.memory_gb)
    yield f"#   memory_gib: {product.memory_gb[-1]}   # sold with {sold} GB (NVIDIA's data sheet); `nvidia-smi` tells"
    if product.nvlink_domain:
        domain = product.nvlink_domain
        yield f"#   nvlink_domain: {domain}   # GPUs of an NVL{domain} rack; a smaller one has fewer"


def _partitions(site: Site, usable: list[Partition], main: Kind) -> Iterator[str]:
    yield "partitions:"
    for one in usable:
        yield f"  {scalar(one.name)}: {flow(limits_of(one, len(site.nodes)))}   # {_about(site, one, main)}"
    for one in site.partitions:
        if one not in usable:
            why = "it has no nodes" if not one.nodes else "its name has characters that jobspec does not take"
            yield f"  # {comment(one.name)}: left out, {why}"


def limits_of(partition: Partition, all_nodes: int) -> dict[str, int | str]:
    """Return the limits of a partition as a cluster file has them."""
    limits: dict[str, int | str] = {}
    if partition.max_nodes or partition.nodes < all_nodes:
        limits["max_nodes"] = min(partition.max_nodes or partition.nodes, partition.nodes)
    time = show_time(partition.max_seconds)
    return limits | ({"max_time": time} if time else {})


def show_time(seconds: int | None) -> str | None:
    """Return a limit as a cluster file writes it, ``None`` for none, or one of years."""
    if not seconds or seconds // 86400 > _LONGEST_DAYS:
        return None
    rest = f"{seconds // 60 % 60:02}:{seconds % 60:02}"
    days, hours = divmod(seconds // 3600, 24)
    return f"{days}-{hours:02}:{rest}" if seconds > 86400 else f"{seconds // 3600}:{rest}"


def _about(site: Site, one: Partition, main: Kind) -> str:
    inside = kinds(site, one.name)
    words = [show_count(one.nodes, "node")]
    if site.nodes and not inside:
        words.append("no GPUs")
    words += [f"{nodes} with {kind.show()}" for kind, nodes in inside if kind != main]
    words += ["the default"] if one.default else []
    words += [f"state {one.state}"] if one.state != "UP" else []
    words += [f"accounts {', '.join(one.allowed_accounts[:_LISTED])} only"] if one.allowed_accounts else []
    words += [f"not accounts {', '.join(one.denied_accounts[:_LISTED])}"] if one.denied_accounts else []
    words += [f"groups {', '.join(one.allowed_groups[:_LISTED])} only"] if one.allowed_groups else []
    words += [f"QOS {one.qos} may limit further"] if one.qos else []
    return comment(", ".join(words))


def _mpi(site: Site) -> Iterator[str]:
    if site.mpi is None:
        yield f"# mpi: not known ({comment(site.unknown.get('mpi', ''))})"
        return
    listed = comment(
        f"`srun --mpi=list`: {', '.join(site.mpi)}; the site's default is {site.default_mpi or 'not known'}"
    )
    best = next((kind for kind in _MPI if kind in site.mpi), "none")
    yield f"mpi: {best}   # {listed}"


def _shared(folders: list[FileSystem]) -> Iterator[str]:
    if folders:
        first = folders[:_LISTED]
        listed = ", ".join(one.kind for one in first)
        yield f"# shared: {comment(flow([one.place for one in first]))}   # by their kinds: {comment(listed)}"
    else:
        yield "# shared: not known: no file system of this host is of a kind that hosts share"


def _resources(site: Site, usable: list[Partition], main: Kind) -> Iterator[str]:
    """Yield the account and the partition of the jobs, and what a node has."""
    values = {}
    partition = first_partition(site, usable, main)
    account = first_account(site, partition)
    if account:
        values["account"] = account
    values["partition"] = partition.name
    yield f"resources: {flow(values)}"
    if site.accounts is None:
        yield f"#   account: not known ({comment(site.unknown.get('accounts', ''))})"
    elif not site.accounts:
        yield "#   account: Slurm's accounting knows none of yours"
    else:
        names = ", ".join(one.name for one in site.accounts[:_LISTED])
        yield f"#   account: yours are {comment(names)}"
    nodes = [node for node in site.nodes if partition.name in node.partitions and node.memory and node.cpus]
    if nodes:
        memory, cpus = min(node.memory or 0 for node in nodes), min(node.cpus or 0 for node in nodes)
        yield f"#   a node of `{comment(partition.name)}` has {cpus} CPUs and {memory} MB; a job has all of them unless"
        yield "#   it says `exclusive: false`, and then needs `memory` and `cpus_per_gpu`"


def first_partition(site: Site, usable: list[Partition], main: Kind) -> Partition:
    """Return the partition that a job takes: Slurm's default where it has the GPUs, else that of the most nodes."""
    able = [one for one in usable if any(kind == main for kind, _ in kinds(site, one.name))] or usable
    up = [one for one in able if one.state == "UP"] or able
    return max(up, key=lambda one: (one.default, one.nodes))


def first_account(site: Site, partition: Partition) -> str | None:
    """Return the account that a job takes: the only one, or sbatch's default, of those that the partition allows."""
    allowed = partition.allowed_accounts
    names = [
        one.name
        for one in site.accounts or ()
        if _ACCOUNT.fullmatch(one.name)
        and (not one.partitions or partition.name in one.partitions)
        and (allowed is None or one.name in allowed)
        and one.name not in partition.denied_accounts
    ]
    if site.default_account in names:
        return site.default_account
    return names[0] if len(names) == 1 else None


def _logs(folders: list[FileSystem], said: Said) -> Iterator[str]:
    if said.logs:
        yield f"logs: {scalar(said.logs)}"
        return
    place = folders[0].place if folders else "/SHARED"
    yield f"# logs: {comment(scalar(f'{place}/logs'))}   # not known: a folder that all nodes see, and that is there"


def _container(site: Site, folders: list[FileSystem], said: Said) -> Iterator[str]:
    places = [one.place for one in folders[:_LISTED]] or ["/SHARED"]
    if site.container_options is None:
        yield f"# Whether pyxis is there is not known ({comment(site.unknown.get('container', ''))});"
        yield "# without it: container: {enabled: false}"
    elif "container-image" not in site.container_options:
        yield "container:   # `srun --help` has no --container-image, so pyxis is not there"
        yield "  enabled: false"
        checkout = comment(scalar(f"{places[0]}/src/Megatron-Bridge"))
        yield f"  # workdir: {checkout}   # not known: the framework's checkout"
        yield "# launch: {uv: false}   # where the nodes have no uv"
        return
    if said.image:
        yield "container:"
        yield f"  image: {scalar(said.image)}"
    else:
        yield "# container:"
        image = comment(scalar(f"{places[0]}/images/nemo.sqsh"))
        yield f"#   image: {image}   # not known: a file, or nvcr.io#nvidia/nemo:TAG"
    yield f"{'  # ' if said.image else '#   '}mounts: {comment(flow([f'{one}:{one}' for one in places]))}"


def _caches(folders: list[FileSystem]) -> Iterator[str]:
    place = folders[0].place if folders else "/SHARED"
    yield "# caches:   # folders that all nodes see, and that a mount brings into the container"
    for key, name in (("hf_home", "huggingface"), ("uv_cache_dir", "uv"), ("nemo_home", "nemo")):
        yield f"#   {key}: {comment(scalar(f'{place}/cache/{name}'))}"
