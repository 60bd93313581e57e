"""The test cluster is what it says: several hosts, and containers as pyxis makes them."""

from __future__ import annotations

from tests.cluster.image import ENVIRONMENT
from tests.cluster.jobs import Site
from tests.cluster.slurm import Cluster


def test_tasks_know_their_place(cluster: Cluster) -> None:
    """Two nodes of eight tasks with PMIx: Slurm numbers them by node, and each node has a host name of its own."""
    shown = 'echo "$SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS $(hostname)"'
    done = cluster.run("srun", "--nodes=2", "--ntasks-per-node=8", "--mpi=pmix", "bash", "-c", shown)
    tasks = sorted((line.split() for line in done.stdout.splitlines()), key=lambda task: int(task[0]))

    assert tasks == [[str(n), str(n % 8), str(n // 8), "16", f"node{n // 8 + 1:02}"] for n in range(16)]


def test_nodes_share_no_loopback(cluster: Cluster) -> None:
    """What listens on one node's loopback cannot be reached from another's, as between real hosts."""
    program = """
import os, socket, time
if os.environ["SLURM_PROCID"] == "0":
    server = socket.create_server(("0.0.0.0", 29500))
    server.settimeout(10)
    server.accept()
else:
    time.sleep(0.5)
    try:
        socket.create_connection(("127.0.0.1", 29500), 1)
        print("loopback is shared")
    except OSError:
        socket.create_connection(("node01", 29500), 5)
        print("by name only")
"""
    done = cluster.run("srun", "--nodes=2", "--ntasks-per-node=1", "-w", "node01,node02", "python3", "-c", program)

    assert done.stdout == "by name only\n", done.stderr


def container(site: Site, *command: str, flags: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """Run a command in a container of the site's image."""
    options = ["--nodes=1", "--ntasks=1", f"--container-image={site.image}", *flags]
    done = site.cluster.run("srun", *options, *command, NCCL_NVLS_ENABLE="job", OF_THE_JOB="yes")
    return done.returncode, done.stdout.strip(), done.stderr


def test_image_wins_over_the_job(site: Site) -> None:
    """A variable of the image wins over the job's, unless --container-env names it; others pass."""
    names = ("bash", "-c", 'echo "$NCCL_NVLS_ENABLE $OF_THE_IMAGE $OF_THE_JOB"')

    assert container(site, *names)[1] == f"{ENVIRONMENT['NCCL_NVLS_ENABLE']} yes yes"
    assert container(site, *names, flags=("--container-env=NCCL_NVLS_ENABLE",))[1] == "job yes yes"


def test_container_has_its_own_view(site: Site) -> None:
    """A container begins in the image's folder, sees only what is mounted, and cannot write its root."""
    assert container(site, "pwd")[1] == "/root"
    assert container(site, "bash", "-c", f"ls {site.logs}")[0] != 0
    assert container(site, "bash", "-c", f"ls {site.logs}", flags=(f"--container-mounts={site.folder}",))[0] == 0
    assert container(site, "touch", "/opt/new")[0] != 0
    assert container(site, "touch", "/opt/new", flags=("--container-writable",))[0] == 0


def test_wrong_containers_fail(site: Site) -> None:
    """A missing image or mount source fails the task; an unknown option or flag fails srun."""
    assert container(site, "true", flags=("--container-mounts=/nowhere:/x",))[0] == 1
    assert container(site, "true", flags=("--container-mounts=/tmp:/x:fast",))[0] != 0
    assert container(site, "true", flags=("--container-pull",))[0] != 0
    done = site.cluster.run("srun", "--nodes=1", f"--container-image={site.folder}/none", "true")
    assert done.returncode == 1


def test_directives_take_no_container_options(site: Site) -> None:
    """Container options as #SBATCH lines are refused: they belong to srun."""
    (site.folder / "x.sh").write_text("#!/bin/bash\n#SBATCH --no-container-mount-home\ntrue\n")
    done = site.cluster.run("sbatch", str(site.folder / "x.sh"))

    assert done.returncode != 0
    assert "unrecognized option" in done.stderr
