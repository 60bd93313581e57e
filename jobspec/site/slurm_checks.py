"""What a job wants against what Slurm says of the site."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.host import slurm_host
from jobspec.schema.suggest import closest
from jobspec.site.cluster_file import show_time
from jobspec.site.gpu_kinds import kinds
from jobspec.site.gpus import product_of
from jobspec.site.report import FAILURE, PASS, UNKNOWN, WARNING, Line
from jobspec.site.slurm import Node, Partition, Site
from jobspec.spec.model import Spec
from jobspec.spec.time import seconds
from jobspec.values import show_list

#: The oldest Slurm whose outputs and options are known here.
_OLDEST = (21, 8)
_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}
# What scripts give srun of pyxis's options.
_USED_OPTIONS = ("container-image", "container-mounts", "container-env", "no-container-mount-home")


def check_slurm(spec: Spec, site: Site, *, whole_job: bool) -> Iterator[Line]:
    """Yield what Slurm alone can tell; ``whole_job`` where nodes and time are a manifest's."""
    yield _version(site)
    if "config" in site.unknown and not site.partitions:
        yield Line(FAILURE, "controller", site.unknown["config"], "run it on a login node, when the controller answers")
        return
    wanted = spec.resources.partition
    names = [wanted] if whole_job and wanted else list(spec.cluster.partitions)
    for name in names:
        yield _partition(spec, site, name)
    partition = site.partition(wanted) if wanted else None
    yield _account(spec, site, partition)
    yield from _nodes(spec, site, partition, whole_job=whole_job)
    yield _mpi(spec, site)
    yield _pyxis(spec, site)


def _version(site: Site) -> Line:
    if site.version is None:
        why = site.unknown.get("version", "`sinfo --version` says something else")
        return Line(FAILURE, "slurm", why, "run it on a login node, with Slurm's commands on PATH")
    year, month = (int(part) for part in site.version.split(".")[:2])
    if (year, month) < _OLDEST:
        return Line(WARNING, "slurm", f"Slurm {site.version} is older than 21.08, the oldest that scripts are made for")
    return Line(PASS, "slurm", f"Slurm {site.version}")


def _partition(spec: Spec, site: Site, name: str) -> Line:
    if "partitions" in site.unknown:
        return Line(UNKNOWN, "partition", f"`{name}`: {site.unknown['partitions']}")
    found = site.partition(name)
    if found is None:
        known = [one.name for one in site.partitions]
        meant = closest(name, known)
        fix = (f"did you mean `{meant}`? " if meant else "") + f"the site has {show_list(known)}"
        return Line(FAILURE, "partition", f"the site has no partition `{name}`, or not for you", fix)
    if found.state != "UP":
        return Line(FAILURE, "partition", f"`{name}` is {found.state}", "use another partition, or ask the site")
    groups = found.allowed_groups
    if groups and slurm_host().uid != 0 and not set(groups) & slurm_host().groups():
        message = f"`{name}` is for the groups {show_list(groups)}, and you are in none of them"
        return Line(FAILURE, "partition", message, "use another partition, or ask the site for one of the groups")
    return _limits(spec, found)


def _limits(spec: Spec, found: Partition) -> Line:
    limits = spec.cluster.partitions.get(found.name)
    most = min(found.max_nodes or found.nodes, found.nodes)
    time = show_time(found.max_seconds)
    if limits and limits.max_nodes and limits.max_nodes > most:
        message = f"`{found.name}`: the file allows {limits.max_nodes} nodes, Slurm {most}"
        return Line(FAILURE, "partition", message, f"write `max_nodes: {most}` in the cluster file")
    if time and found.max_seconds and limits and limits.max_time and seconds(limits.max_time) > found.max_seconds:
        message = f"`{found.name}`: the file allows {limits.max_time}, Slurm {time}"
        return Line(FAILURE, "partition", message, f'write `max_time: "{time}"` in the cluster file')
    return Line(PASS, "partition", f"`{found.name}`: up, {most} nodes, {time or 'no limit of time'}")


def _account(spec: Spec, site: Site, partition: Partition | None) -> Line:
    account = spec.resources.account or site.default_account
    where = f"`{partition.name}`" if partition else "the partition"
    if account is None:
        if site.needs_account and site.accounts is None:
            return Line(UNKNOWN, "account", f"none is said, and the site wants one ({site.unknown.get('accounts')})")
        if site.needs_account:
            known = show_list([one.name for one in site.accounts or ()])
            fix = f"write `resources: {{account: NAME}}`; yours are {known}" if known else "ask the site for an account"
            return Line(FAILURE, "account", "none is said, and the site wants one", fix)
        return Line(PASS, "account", "none is said, and the site wants none")
    allowed = partition.allowed_accounts if partition else None
    if (allowed is not None and account not in allowed) or (partition and account in partition.denied_accounts):
        fix = f"use one of {show_list(allowed)}" if allowed else "use another account"
        return Line(
            FAILURE, "account", f"{where} does not take the account `{account}`", f"{fix}, or another partition"
        )
    if site.accounts is None:
        if "config" not in site.unknown and not site.needs_account:
            return Line(PASS, "account", f"`{account}`: the site looks at no account, and {where} at none either")
        return Line(UNKNOWN, "account", f"`{account}`: {site.unknown.get('accounts')}")
    return _own_account(account, site, partition)


def _own_account(account: str, site: Site, partition: Partition | None) -> Line:
    mine = {one.name.lower(): one for one in site.accounts or ()}  # Slurm keeps them in lower case
    found = mine.get(account.lower())
    if found is None:
        meant = closest(account, mine)
        fix = (f"did you mean `{meant}`? " if meant else "") + f"yours are {show_list(list(mine)) or 'none'}"
        return Line(FAILURE if site.needs_account else WARNING, "account", f"`{account}` is no account of yours", fix)
    if partition and found.partitions and partition.name not in found.partitions:
        fix = f"use one of {show_list(sorted(found.partitions))}, or another account"
        return Line(FAILURE, "account", f"`{account}` is not yours in the partition `{partition.name}`", fix)
    return Line(PASS, "account", f"`{account}`")


def _nodes(spec: Spec, site: Site, partition: Partition | None, *, whole_job: bool) -> Iterator[Line]:
    if not site.nodes:
        yield Line(UNKNOWN, "nodes", site.unknown.get("nodes", "Slurm lists none"))
        return
    inside = [one for one in site.nodes if partition is None or partition.name in one.partitions]
    where = f"`{partition.name}`" if partition else "the cluster"
    down = tuple(one.name for one in inside if not one.usable)
    wanted, able = spec.resources.nodes, len(inside) - len(down)
    reasons = show_list([_why_down(one) for one in inside if not one.usable], 4)
    if whole_job and wanted > able:
        message = f"{wanted} nodes are wanted, but {where} has {able} that jobs can start on"
        fix = f"use `nodes: {able}` or fewer, or wait for {reasons}" if down else f"use `nodes: {able}` or fewer"
        yield Line(FAILURE, "nodes", message, fix if able else f"wait for {reasons}, or use another partition", down)
    elif down:
        yield Line(
            WARNING, "nodes", f"{where}: {len(down)} of {len(inside)} nodes are not usable: {reasons}", None, down
        )
    else:
        yield Line(PASS, "nodes", f"{where}: {len(inside)}, all usable")
    yield _gpus(spec, site, inside, partition)
    too_small = _too_small(spec, inside)
    if too_small:
        yield too_small


def _why_down(node: Node) -> str:
    return f"{node.name} ({node.state}" + (f": {node.reason})" if node.reason else ")")


def _gpus(spec: Spec, site: Site, inside: list[Node], partition: Partition | None) -> Line:
    where = f"`{partition.name}`" if partition else "the cluster"
    found = kinds(site, partition.name if partition else None)
    wanted = spec.resources.gpus_per_node
    if not wanted:
        return Line(PASS, "gpus", "none is wanted")
    if not found:
        fix = (
            "use another partition, or ask the site for gres.conf: sbatch refuses --gpus-per-node where there are none"
        )
        return Line(FAILURE, "gpus", f"{where}: no node has GPUs that Slurm knows of", fix)
    shown = "; ".join(f"{kind.show()} on {nodes} nodes" for kind, nodes in found)
    enough = sum(nodes for kind, nodes in found if kind.number >= wanted)
    if enough < min(spec.resources.nodes, len(inside)):
        fix = f"write `gpus_per_node: {found[0][0].number}` in the cluster file"
        return Line(FAILURE, "gpus", f"{wanted} GPUs a node are wanted, but {where} has {shown}", fix)
    architectures = {product.architecture for kind, _ in found if (product := product_of(kind.type))}
    said = spec.cluster.architecture
    if said and architectures and None not in architectures and said not in architectures:
        fix = f"write `gpu: {{architecture: {min(filter(None, architectures))}}}` in the cluster file"
        return Line(FAILURE, "gpus", f"the file says {said}, but {where} has {shown}", fix)
    return Line(PASS, "gpus", f"{where}: {shown}")


def _too_small(spec: Spec, nodes: list[Node]) -> Line | None:
    """Return a line where too few nodes have the memory and the CPUs that a job asks for, nothing where all is well."""
    resources = spec.resources
    memory = _megabytes(resources.memory)
    cpus = (resources.cpus_per_gpu or 0) * max(1, resources.gpus_per_node)
    for what, wanted, have, fix in (
        ("MB", memory, [one.memory for one in nodes], "lower `memory` of `resources`"),
        ("CPUs", cpus, [one.cpus for one in nodes], "lower `cpus_per_gpu` of `resources`"),
    ):
        known = [one for one in have if one is not None]
        if wanted and known and sum(one >= wanted for one in known) < min(resources.nodes, len(nodes)):
            message = f"{wanted:g} {what} a node are wanted, but the largest node has {max(known)}"
            return Line(FAILURE, "node-size", message, f"{fix}: a node has {max(known)} {what}")
    return None


def _megabytes(text: str | None) -> float:
    if not text:
        return 0
    return float(text.rstrip("KMGT")) * _UNITS.get(text[-1], 1)


def _mpi(spec: Spec, site: Site) -> Line:
    wanted = spec.cluster.mpi
    if wanted is None:
        return Line(PASS, "mpi", f"the site's default is taken: {site.default_mpi or 'not known which'}")
    if site.mpi is None:
        return Line(UNKNOWN, "mpi", f"`{wanted}`: {site.unknown.get('mpi')}")
    if wanted not in site.mpi:
        fix = f"write `mpi: {'pmi2' if 'pmi2' in site.mpi else 'none'}` in the cluster file"
        return Line(FAILURE, "mpi", f"srun has no MPI kind `{wanted}`: it has {show_list(site.mpi)}", fix)
    return Line(PASS, "mpi", f"`{wanted}`")


def _pyxis(spec: Spec, site: Site) -> Line:
    options = site.container_options
    if not spec.container.enabled:
        return Line(PASS, "pyxis", "no container is wanted")
    if options is None:
        return Line(UNKNOWN, "pyxis", str(site.unknown.get("container")))
    if "container-image" not in options:
        fix = "ask the site to name pyxis in plugstack.conf, or write `container: {enabled: false}` in the cluster file"
        return Line(FAILURE, "pyxis", "srun has no --container-image, so pyxis is not there", fix)
    missing = [f"--{name}" for name in _USED_OPTIONS if name not in options]
    if missing:
        return Line(FAILURE, "pyxis", f"pyxis has no {show_list(missing)}", "ask the site for a newer pyxis")
    return Line(PASS, "pyxis", "srun takes containers")
