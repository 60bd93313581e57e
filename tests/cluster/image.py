"""A container image for the test cluster: a directory with the host's /usr and stand-ins for uv and Bridge."""

from __future__ import annotations

from pathlib import Path

#: The image's own environment: it wins over the job's, except for what --container-env names.
ENVIRONMENT = {"PATH": "/opt/uv:/usr/bin:/bin", "NCCL_NVLS_ENABLE": "image", "OF_THE_IMAGE": "yes"}

#: What every container needs of the host; the rest of the image is its own.
SITE_MOUNTS = ("/usr:/usr:ro",)

_UV = '''\
#!/usr/bin/python3
"""A stand-in for uv: `sync` leaves a line in the cache, `run` runs the program."""
import os
import sys

if sys.argv[1] == "sync":
    step = os.environ["SLURM_STEP_ID"]
    with open(os.path.join(os.environ["UV_CACHE_DIR"], "syncs"), "a") as file:
        file.write(f"{step} {os.environ['SLURM_PROCID']} {os.environ['SLURM_NTASKS']} {os.getcwd()}\\n")
else:
    assert sys.argv[1:4] == ["run", "--no-sync", "python"], sys.argv
    os.execv("/usr/bin/python3", ["python3", *sys.argv[4:]])
'''

_RUN_RECIPE = '''\
"""A stand-in for Megatron Bridge: writes down what it was given, prints a loss, and fails where it is told to."""
import json
import os
import socket
import sys

rank = os.environ["RANK"]
record = {"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "host": socket.gethostname()}
with open(os.path.join(os.environ["TEST_RECORD"], f"rank{rank}.json"), "w") as file:
    json.dump(record, file)
print(f" iteration        1/    1000 | rank {rank} | lm loss: 1.234567E+01 |", flush=True)
sys.exit(int(os.environ.get(f"TEST_EXIT_{rank}", "0")))
'''


def make_image(folder: Path, workdir: str = "/opt/Megatron-Bridge") -> Path:
    """Make the image below ``folder``, with the framework's checkout at ``workdir``, and return its root."""
    root = folder / "image"
    for part in ("usr", "etc", "root", "tmp", "run", "proc", "sys", "dev", "opt/uv"):
        (root / part).mkdir(parents=True)
    for link in ("bin", "sbin", "lib", "lib64"):
        (root / link).symlink_to(f"usr/{link}")
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
    (root / "etc" / "environment").write_text("".join(f"{name}={value}\n" for name, value in ENVIRONMENT.items()))
    uv = root / "opt" / "uv" / "uv"
    uv.write_text(_UV)
    uv.chmod(0o755)
    script = root / workdir.lstrip("/") / "scripts" / "training" / "run_recipe.py"
    script.parent.mkdir(parents=True)
    script.write_text(_RUN_RECIPE)
    return root
