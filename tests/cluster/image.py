"""A container image for the test cluster: a directory with the host's /usr and stand-ins for uv and Bridge."""

from __future__ import annotations

from pathlib import Path

#: The image's own environment: it wins over the job's, except for what --container-env names.
ENVIRONMENT = {
    "PATH": "/opt/uv:/usr/bin:/bin",
    "PYTHONPATH": "/opt/lib",
    "NCCL_NVLS_ENABLE": "image",
    "OF_THE_IMAGE": "yes",
}

#: What every container needs of the host; the rest of the image is its own.
SITE_MOUNTS = ("/usr:/usr:ro",)

#: The programs that the image has, all the same stand-in.
PROGRAMS = (
    "scripts/training/run_recipe.py",
    "scripts/conversion/run_conversion.py",
    "scripts/inference/text_generation.py",
    "3rdparty/Megatron-LM/pretrain_gpt.py",
)

_UV = '''\
#!/usr/bin/python3
"""A stand-in for uv: `sync` leaves a line in the cache and a mark in the container, `run` runs the program."""
import os
import sys
from contextlib import suppress

if sys.argv[1] == "sync":
    step = os.environ["SLURM_STEP_ID"]
    with open(os.path.join(os.environ["UV_CACHE_DIR"], "syncs"), "a") as file:
        file.write(f"{step} {os.environ['SLURM_PROCID']} {os.environ['SLURM_NTASKS']} {os.getcwd()}\\n")
    with suppress(OSError), open("/opt/uv/synced", "a"):  # a root that cannot be written
        pass
else:
    os.environ["TEST_SYNCED"] = str(os.path.exists("/opt/uv/synced"))
    assert sys.argv[1:3] == ["run", "--no-sync"], sys.argv
    program = ["python3" if sys.argv[3] == "python" else sys.argv[3], *sys.argv[4:]]
    os.execvp(program[0], program)
'''

# torch's own agent meets others before it starts its workers; here the workers meet, at the address that it passes on.
_TORCHRUN = '''\
"""A stand-in for torch.distributed.run with static rendezvous: starts the ranks of a node, and waits for them."""
import argparse
import os
import subprocess
import sys

parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("--nnodes", type=int, default=1)
parser.add_argument("--nproc_per_node", type=int, default=1)
parser.add_argument("--node_rank", type=int, default=0)
parser.add_argument("--master_addr", default="127.0.0.1")
parser.add_argument("--master_port", type=int, default=29500)
parser.add_argument("program", nargs=argparse.REMAINDER)
options = parser.parse_args()

def start(local_rank):
    ranks = {
        "RANK": options.node_rank * options.nproc_per_node + local_rank,
        "LOCAL_RANK": local_rank,
        "WORLD_SIZE": options.nnodes * options.nproc_per_node,
        "MASTER_ADDR": options.master_addr,
        "MASTER_PORT": options.master_port,
    }
    environment = os.environ | {name: str(value) for name, value in ranks.items()}
    return subprocess.Popen([sys.executable, *options.program], env=environment)

workers = [start(local_rank) for local_rank in range(options.nproc_per_node)]
sys.exit(max(worker.wait() for worker in workers))
'''

_TRAIN = '''\
"""A stand-in for a training program: all ranks meet, each writes down what it was given and prints a loss."""
import json
import os
import signal
import socket
import sys
import time

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

def meet():
    """Meet the other ranks at MASTER_ADDR:MASTER_PORT, as a process group does; nobody goes on before all are there."""
    place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    patience = float(os.environ.get("TEST_PATIENCE", "20"))
    end = time.monotonic() + patience
    if rank == 0:
        server = socket.create_server(("", place[1]), backlog=world)
        server.settimeout(patience)
        others = [server.accept()[0] for _ in range(world - 1)]
        seen = sorted(int.from_bytes(other.recv(4), "big") for other in others)
        assert seen == list(range(1, world)), seen
        for other in others:
            other.sendall(b"go")
        return
    while True:
        try:
            connection = socket.create_connection(place, timeout=patience)
            break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    connection.sendall(rank.to_bytes(4, "big"))
    assert connection.recv(2) == b"go"

def train(iterations):
    """Go on from the last checkpoint until the end, or until SIGTERM: then save and end, as Megatron does."""
    (save,) = (word.partition("=")[2] for word in sys.argv if word.startswith("checkpoint.save="))
    place = os.path.join(save, "latest_checkpointed_iteration.txt")
    first = int(open(place).read()) if os.path.exists(place) else 0
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    for iteration in range(first, iterations):
        if told:
            break
        time.sleep(0.1)
    else:
        iteration = iterations
    if rank == 0:
        with open(place, "w") as file:
            file.write(str(iteration))
        print(f"from iteration {first} to {iteration} of {iterations}", flush=True)

meet()
record = {"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "host": socket.gethostname()}
with open(os.path.join(os.environ["TEST_RECORD"], f"rank{rank}.json"), "w") as file:
    json.dump(record, file)
if "TEST_ITERATIONS" in os.environ:
    train(int(os.environ["TEST_ITERATIONS"]))
print(f" iteration        1/    1000 | rank {rank} | lm loss: 1.234567E+01 |", flush=True)
sys.exit(int(os.environ.get(f"TEST_EXIT_{rank}", "0")))
'''


def make_image(folder: Path, workdir: str = "/opt/Megatron-Bridge") -> Path:
    """Make the image below ``folder``, with the framework's checkout at ``workdir``, and return its root."""
    root = folder / "image"
    for part in ("usr", "etc", "root", "tmp", "run", "proc", "sys", "dev", "opt/uv"):
        (root / part).mkdir(parents=True)
    torch = root / "opt" / "lib" / "torch" / "distributed"
    torch.mkdir(parents=True)
    (torch / "run.py").write_text(_TORCHRUN)
    for link in ("bin", "sbin", "lib", "lib64"):
        (root / link).symlink_to(f"usr/{link}")
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
    (root / "etc" / "environment").write_text("".join(f"{name}={value}\n" for name, value in ENVIRONMENT.items()))
    uv = root / "opt" / "uv" / "uv"
    uv.write_text(_UV)
    uv.chmod(0o755)
    for name in PROGRAMS:
        script = root / workdir.lstrip("/") / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(_TRAIN)
    return root
