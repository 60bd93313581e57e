"""The container: its image and its mounts."""

from __future__ import annotations

import re

from jobspec.diagnostics.model import Severity
from jobspec.frameworks.protocol import FINETUNINGS
from jobspec.ir.required_paths import host_path
from jobspec.rules.registry import Report, rule
from jobspec.spec.build import CACHE_VARIABLES
from jobspec.spec.model import Spec

# As in Docker's references, what stands before the first slash is a host when it has a dot or a port.
_HOST = re.compile(r"([^/#:]*\.[^/#:]*(?::\d+)?|[^/#:]+:\d+)/([^#]+)\Z")


@rule("JS244", "mounts-on-one-target", Severity.ERROR)
def mounts_on_one_target(spec: Spec, report: Report) -> None:
    """Finds two mounts with the same place in the container.

    Why it matters: the later one hides the earlier one, and nothing says so.

    Example:

    ```yaml
    container: {image: /lustre/images/nemo.sqsh, mounts: ["/lustre/a:/data", "/lustre/b:/data"]}
    ```

    Use instead:

    ```yaml
    container: {image: /lustre/images/nemo.sqsh, mounts: ["/lustre/a:/data", "/lustre/b:/data2"]}
    ```

    Source: mount(2); pyxis, README, --container-mounts
    """
    first: dict[str, int] = {}
    for index, mount in enumerate(spec.container.mounts):
        target = mount.target.rstrip("/") or "/"
        if target in first:
            report(
                f"two mounts have the target `{target}`",
                at=f"/container/mounts/{index}",
                label="again here",
                also={f"/container/mounts/{first[target]}": "first here"},
                help=("give one of them another target",),
            )
        first.setdefault(target, index)


@rule("JS245", "registry-with-slash", Severity.ERROR)
def registry_with_slash(spec: Spec, report: Report) -> None:
    """Finds an image that Enroot would look for on Docker Hub: a registry with a slash, or a relative path.

    Why it matters: a file has an absolute path, and nothing in it is expanded. Enroot separates a registry with `#`;
    with a slash it asks Docker Hub for a repository of that whole name, and every node fails with "URL
    https://registry-1.docker.io/v2/nvcr.io/... returned error code: 401".

    Example:

    ```yaml
    container: {image: "nvcr.io/nvidia/nemo:25.09"}
    ```

    Use instead:

    ```yaml
    container: {image: "nvcr.io#nvidia/nemo:25.09"}
    ```

    Source: enroot, doc/cmd/import.md, the form of a URI; pyxis, README, --container-image
    """
    image = spec.container.image or ""
    if image.startswith("/"):
        return
    match = _HOST.match(image)
    if image.startswith((".", "~", "$")) or image.endswith(".sqsh"):
        report(
            f"`{image}` is no absolute path, so it is the name of a repository on Docker Hub to Enroot",
            at="/container/image",
            help=("write the path from `/` on",),
        )
    elif match:
        report(
            f"`{match.group(1)}` is followed by a slash, so it is no registry to Enroot",
            at="/container/image",
            help=(f"use `image: {match.group(1)}#{match.group(2)}`",),
        )


@rule("JS246", "path-under-no-mount", Severity.WARNING)
def path_under_no_mount(spec: Spec, report: Report) -> None:
    """Finds a path that no mount brings into the container.

    Why it matters: what is written there lies in the container's own root on each node and is gone with the job, a
    checkpoint too; what is read there has to be a part of the image.

    Example:

    ```yaml
    checkpoint: {pretrained: /lustre/models/GLM-4.5V/iter_0000000, save: /lustr/results/run, minutes_before_limit: 15}
    ```

    Use instead:

    ```yaml
    checkpoint: {pretrained: /lustre/models/GLM-4.5V/iter_0000000, save: /lustre/results/run, minutes_before_limit: 15}
    ```

    Source: pyxis, README, --container-mounts and --container-name; enroot, doc/cmd/start.md
    """
    container = spec.container
    if not container.enabled or container.mount_home:
        return
    conversion = spec.conversion
    paths = {
        "/checkpoint/pretrained": spec.checkpoint.pretrained,
        "/checkpoint/save": spec.checkpoint.save,
        "/conversion/megatron_path": conversion and conversion.megatron_path,
        "/conversion/hf_path": conversion and conversion.hf_path,
        "/data/root": spec.data.root,
        "/data/cache": spec.data.cache,
        "/logging/tensorboard": spec.logging.tensorboard,
        **{f"/data/paths/{index}": path for index, path in enumerate(spec.data.paths)},
        **{f"/caches/{key}": spec.caches.get(variable) for key, variable in CACHE_VARIABLES.items()},
    }
    for pointer, path in paths.items():
        if path and host_path(path, container.mounts) is None:
            report(
                f"`{path}` is under no mount, so it is in the container alone",
                at=pointer,
                notes=("mounted: " + (", ".join(f"`{one.target}`" for one in container.mounts) or "nothing"),),
                help=("correct the path, or add its folder to the `mounts` of `container`",),
            )


@rule("JS247", "container-local-caches", Severity.WARNING, unless=("JS251", "JS252", "JS253"))
def container_local_caches(spec: Spec, report: Report) -> None:
    """Finds a fine-tuning on several nodes whose caches lie in the containers.

    Why it matters: one rank downloads and packs the data, and the ranks of the other nodes look for them where it has
    put them. In the container's own root they find nothing, or each node downloads the model and the data anew.

    Example:

    ```yaml
    cluster:
      gpus_per_node: 8
      partitions: {batch: {}}
      container: {image: /lustre/images/nemo.sqsh, mounts: ["/lustre:/lustre"]}
      caches: {hf_home: /lustre/cache/huggingface}
      logs: /lustre/logs
    data: {dataset: squad}
    ```

    Use instead:

    ```yaml
    data: {dataset: squad}
    caches: {hf_home: /lustre/cache/huggingface, nemo_home: /lustre/cache/nemo}
    ```

    Source: Megatron-Bridge, src/megatron/bridge/data/builders/gpt_sft.py:47; huggingface_hub, HF_HOME
    """
    container = spec.container
    if not container.enabled or container.mount_home or spec.resources.nodes == 1 or spec.framework != "bridge":
        return
    if spec.task not in FINETUNINGS or spec.data.dataset in (None, "energon"):
        return
    said = {**spec.caches, **spec.env}
    for key, variable in _DATA_CACHES.items():
        if variable not in said and variable not in spec.secrets:
            report(
                f"the cache of {variable} lies in the container of each node",
                at="/data/dataset",
                also={"/resources/nodes": f"{spec.resources.nodes} nodes"},
                help=(f"add `{key}: FOLDER` to `caches`, on a file system that all nodes share",),
            )


# Where data sets are downloaded to, and where they are packed; `caches` has the keys.
_DATA_CACHES = {"hf_home": "HF_HOME", "nemo_home": "NEMO_HOME"}
