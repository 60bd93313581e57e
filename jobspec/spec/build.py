"""Build the typed job from a merged, valid tree."""

from __future__ import annotations

from typing import Any

from jobspec.frameworks import FRAMEWORKS
from jobspec.spec.model import (
    AnyCommand,
    Checkpoint,
    Cluster,
    Container,
    Conversion,
    Data,
    JobStep,
    Launch,
    Layout,
    Logging,
    Model,
    Mount,
    Nsys,
    Partition,
    Resources,
    Slurm,
    Spec,
    Training,
    Wandb,
)
from jobspec.spec.pipeline_layout import virtual_size
from jobspec.syntax.nodes import Mapping

#: Tasks that load a model and train nothing, and the sizes that their programs know.
UNTRAINED = ("import", "export", "roundtrip", "inference")
MODEL_SIZES = ("tp", "pp", "ep", "etp")

#: The environment variable that each shared cache is found by.
CACHE_VARIABLES = {
    "hf_home": "HF_HOME",
    "uv_cache_dir": "UV_CACHE_DIR",
    "nemo_home": "NEMO_HOME",
    "triton_cache_dir": "TRITON_CACHE_DIR",
}


def build(tree: Mapping, pointer: str = "") -> Spec:
    """Return the job that a merged tree describes; the tree is valid under the schemas.

    ``pointer`` is that of the step, where the tree is one of several steps.
    """
    data = tree.data()
    step = JobStep(data["step"]["name"], data["step"].get("unless_exists"), pointer) if pointer else None
    resources = _resources(data)
    caches = data.get("caches", {})
    return Spec(
        name=data["name"],
        description=data.get("description"),
        framework=data["framework"],
        task=data["task"],
        recipe=data.get("recipe"),
        step_func=data.get("step_func"),
        script=data.get("script"),
        args=data.get("args", {}),
        target=data.get("target"),
        resources=resources,
        layout=layout_of(data.get("parallelism", {}), resources.world, data["framework"], data["task"]),
        training=_fields(Training, data.get("training", {})),
        data=_data(data.get("data", {})),
        checkpoint=_fields(Checkpoint, data.get("checkpoint", {})),
        conversion=_fields(Conversion, data["conversion"]) if "conversion" in data else None,
        command=_command(data["command"]) if "command" in data else None,
        logging=_logging(data.get("logging", {}), f"{data['name']}-{step.name}" if step else data["name"]),
        logs=data.get("logs"),
        container=_container(data.get("container", {})),
        caches={variable: caches[key] for key, variable in CACHE_VARIABLES.items() if key in caches},
        env=data.get("env", {}),
        secrets=tuple(data.get("secrets", ())),
        launch=_launch(data.get("launch", {})),
        slurm=_slurm(data.get("slurm", {})),
        overrides=data.get("overrides", {}),
        cluster=_cluster(data["cluster"]),
        model=model_of(data.get("model", {})),
        tree=tree,
        step=step,
    )


def _fields(kind: type[Any], data: dict[str, Any]) -> Any:
    """Return a named tuple whose fields are the section's keys, ``None`` for what is left out."""
    return kind(**{name: data.get(name) for name in kind._fields})


def _resources(data: dict[str, Any]) -> Resources:
    own, cluster = data["resources"], data["cluster"]
    partitions = list(cluster["partitions"])
    exclusive = own.get("exclusive", True)
    return Resources(
        nodes=own["nodes"],
        gpus_per_node=own.get("gpus_per_node", cluster["gpus_per_node"]),
        cpus_per_gpu=own.get("cpus_per_gpu"),
        time=own["time"],
        partition=own.get("partition", partitions[0] if len(partitions) == 1 else None),
        account=own.get("account"),
        exclusive=exclusive,
        # Nodes for oneself are all CPUs and GPUs, but no more memory than is asked for (sbatch(1), --exclusive).
        memory=own.get("memory", "0" if exclusive else None),
    )


def layout_of(data: dict[str, Any], world: int, framework: str, task: str) -> Layout:
    """Return the layout that a section ``parallelism`` describes; not every task knows all sizes."""
    if task in UNTRAINED:
        data = {name: size for name, size in data.items() if name in MODEL_SIZES}
    tp, pp, ep = data.get("tp", 1), data.get("pp", 1), data.get("ep", 1)
    pipeline = data.get("layout")
    vpp = data.get("vpp") or (virtual_size(pipeline, pp) if pipeline else None)
    return Layout(
        world=world,
        tp=tp,
        pp=pp,
        vpp=None if vpp == 1 else vpp,  # Megatron takes any number for the interleaved schedule, which needs pp above 1
        cp=data.get("cp", 1),
        ep=ep,
        etp=data.get("etp") or FRAMEWORKS[framework].default_etp(tp, ep),
        sp=data.get("sp", True) and tp > 1,  # with one rank there is nothing to split, and Megatron turns it off
        pipeline=pipeline,
    )


def _data(data: dict[str, Any]) -> Data:
    return Data(
        dataset=data.get("dataset"),
        root=data.get("root"),
        paths=tuple(data.get("paths", ())),
        weights=tuple(data.get("weights", ())),
        split=data.get("split"),
        cache=data.get("cache"),
        num_workers=data.get("num_workers"),
    )


def _command(data: dict[str, Any]) -> AnyCommand:
    return AnyCommand(argv=tuple(data.get("argv", ())), spread=data.get("spread", "per-gpu"))


def _logging(data: dict[str, Any], job_name: str) -> Logging:
    wandb = data.get("wandb")
    return Logging(
        log_interval=data.get("log_interval"),
        tensorboard=data.get("tensorboard"),
        wandb=wandb and Wandb(project=wandb["project"], name=wandb.get("name", job_name), entity=wandb.get("entity")),
    )


def _container(data: dict[str, Any]) -> Container:
    return Container(
        enabled=data.get("enabled", True),
        image=data.get("image"),
        mounts=tuple(_mount(text) for text in data.get("mounts", ())),
        workdir=data.get("workdir", "/opt/Megatron-Bridge"),
        mount_home=data.get("mount_home", False),
        writable=data.get("writable"),
    )


def _mount(text: str) -> Mount:
    source, target, options, *_ = *text.split(":"), "", ""
    return Mount(source=source, target=target or source, options=tuple(options.split("+")) if options else ())


def _launch(data: dict[str, Any]) -> Launch:
    return Launch(
        warmup=data.get("warmup", "once"),
        uv=data.get("uv", True),
        kill_on_bad_exit=data.get("kill_on_bad_exit", False),
        losses=data.get("losses", True),
        on_failure=data.get("on_failure", "stop"),
        cpu_bind=data.get("cpu_bind"),
        numa_nodes=data.get("numa_nodes"),
        nsys=_nsys(data["nsys"]) if "nsys" in data else None,
        resume_attempts=data["resume"]["attempts"] if "resume" in data else None,
    )


def _nsys(data: dict[str, Any]) -> Nsys:
    return Nsys(
        folder=data["folder"],
        ranks=tuple(data.get("ranks", (0,))),
        first_step=data["first_step"],
        last_step=data["last_step"],
        trace=tuple(data.get("trace", ("cuda", "nvtx"))),
    )


# The keys whose value is the option's own, in the order in which the script has them.
_PLAIN_OPTIONS = (
    *("qos", "reservation", "constraint", "nodelist", "exclude", "dependency", "array", "comment", "signal"),
    "mail_user",
)


def _slurm(data: dict[str, Any]) -> Slurm:
    options: dict[str, str | None] = {key.replace("_", "-"): data[key] for key in _PLAIN_OPTIONS if key in data}
    if "segment" in data:
        options["segment"] = str(data["segment"])
    if "mail_type" in data:
        options["mail-type"] = ",".join(data["mail_type"])
    if "requeue" in data:
        options["requeue" if data["requeue"] else "no-requeue"] = None
    return Slurm(
        options=options,
        sbatch=tuple(data.get("sbatch", ())),
        srun=tuple(data.get("srun", ())),
        signal=data.get("signal"),
    )


def _cluster(data: dict[str, Any]) -> Cluster:
    return Cluster(
        nodes=data.get("nodes"),
        gpus_per_node=data["gpus_per_node"],
        architecture=data.get("gpu", {}).get("architecture"),
        memory_gib=data.get("gpu", {}).get("memory_gib"),
        nvlink_domain=data.get("gpu", {}).get("nvlink_domain"),
        partitions={name: _fields(Partition, limits) for name, limits in data["partitions"].items()},
        mpi=data.get("mpi"),
    )


def model_of(data: dict[str, Any]) -> Model:
    """Return the facts of a section ``model``, or of a model file; what is not said is ``None``."""
    layouts = tuple((pair["pp"], pair["vpp"]) for pair in data.get("pipeline_layouts", ()))
    model: Model = _fields(Model, data | {"pipeline_layouts": layouts})
    return model
