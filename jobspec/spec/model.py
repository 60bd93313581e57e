"""What a manifest says, with the cluster's and the model's facts, as frozen types.

They are named tuples: a frozen dataclass costs twelve times as much to define, which a user would wait for.

Sizes are counts, times are Slurm's text, paths are absolute. ``None`` means "not said": nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm
from typing import Any, NamedTuple

from jobspec.spec.time import seconds
from jobspec.syntax.nodes import Mapping as Tree
from jobspec.syntax.nodes import find


class Resources(NamedTuple):
    """What the job asks Slurm for."""

    nodes: int
    gpus_per_node: int
    cpus_per_gpu: int | None
    time: str
    partition: str | None
    account: str | None
    exclusive: bool
    memory: str | None

    @property
    def world(self) -> int:
        """GPUs of the job; each has one rank."""
        return self.nodes * self.gpus_per_node


class Layout(NamedTuple):
    """How ``world`` GPUs are divided.

    Dense layers: world = dp · tp · pp · cp. Expert layers: world = edp · etp · ep · pp.
    Source: Megatron-LM, megatron/core/parallel_state.py, initialize_model_parallel.

    Attributes:
        pipeline: the text of Megatron's layout of the layers, stage by stage; ``None`` where they are dealt evenly.
    """

    world: int
    tp: int
    pp: int
    vpp: int | None
    cp: int
    ep: int
    etp: int
    sp: bool
    pipeline: str | None

    @property
    def model_parallel(self) -> int:
        """GPUs that hold one copy of the dense layers."""
        return self.tp * self.pp * self.cp

    @property
    def expert_model_parallel(self) -> int:
        """GPUs that hold one copy of the expert layers."""
        return self.etp * self.ep * self.pp

    @property
    def smallest_world(self) -> int:
        """The smallest number of GPUs that the layout fits on; it fits on each multiple."""
        return self.pp * lcm(self.tp * self.cp, self.ep * self.etp)

    @property
    def dp(self) -> int:
        """Data-parallel copies of the dense layers."""
        return self.world // self.model_parallel


class Training(NamedTuple):
    """Batch, length and optimizer."""

    micro_batch_size: int | None
    global_batch_size: int | None
    seq_length: int | None
    train_iters: int | None
    lr: float | None
    min_lr: float | None
    lr_warmup_iters: int | None
    lr_decay_iters: int | None
    eval_iters: int | None
    eval_interval: int | None
    seed: int | None


class Data(NamedTuple):
    """Where the samples come from."""

    dataset: str | None
    root: str | None
    paths: tuple[str, ...]
    weights: tuple[float, ...]
    split: str | None
    cache: str | None
    num_workers: int | None


class Checkpoint(NamedTuple):
    """What is loaded and saved; paths as the container sees them."""

    pretrained: str | None
    save: str | None
    load: str | None
    save_interval: int | None
    minutes_before_limit: int | None


class Conversion(NamedTuple):
    """A checkpoint from or to Hugging Face's form; paths as the container sees them."""

    hf_model: str
    hf_revision: str | None
    megatron_path: str | None
    hf_path: str | None
    torch_dtype: str | None
    trust_remote_code: bool | None
    overwrite: bool | None
    timeout_minutes: int | None


class AnyCommand(NamedTuple):
    """Any program; ``spread`` is ``per-gpu``, ``per-node`` or ``once``."""

    argv: tuple[str, ...]
    spread: str


class Wandb(NamedTuple):
    """A run on Weights & Biases."""

    project: str
    name: str
    entity: str | None


class Logging(NamedTuple):
    """What is logged, and where."""

    log_interval: int | None
    tensorboard: str | None
    wandb: Wandb | None


class Mount(NamedTuple):
    """A bind mount; ``options`` are enroot's, for instance ``ro``."""

    source: str
    target: str
    options: tuple[str, ...]


class Container(NamedTuple):
    """The container of every step."""

    enabled: bool
    image: str | None
    mounts: tuple[Mount, ...]
    workdir: str
    mount_home: bool
    writable: bool | None


class Slurm(NamedTuple):
    """Further options: those of sbatch by name (``None`` for one without a value), and srun's as they are written."""

    options: Mapping[str, str | None]
    sbatch: tuple[str, ...]
    srun: tuple[str, ...]
    signal: str | None

    @property
    def signal_seconds(self) -> int | None:
        """Seconds before the time limit at which the ranks are signalled, ``None`` where they are not."""
        return int(self.signal.partition("@")[2]) if self.signal else None


class Nsys(NamedTuple):
    """Which ranks Nsight Systems profiles, from which iteration to which, and where the reports go."""

    folder: str
    ranks: tuple[int, ...]
    first_step: int
    last_step: int
    trace: tuple[str, ...]


class Launch(NamedTuple):
    """How the ranks are started, and what a job with several steps does when one fails (``stop`` or ``continue``).

    ``resume_attempts`` are the most times that a training starts again at its time limit, ``None`` for never.
    """

    warmup: str
    uv: bool
    kill_on_bad_exit: bool
    losses: bool
    on_failure: str
    cpu_bind: str | None
    numa_nodes: int | None
    nsys: Nsys | None
    resume_attempts: int | None


class Partition(NamedTuple):
    """Limits of a partition."""

    max_nodes: int | None
    max_time: str | None


class Cluster(NamedTuple):
    """Facts of the site; ``memory_gib`` is that of one GPU."""

    nodes: int | None
    gpus_per_node: int
    architecture: str | None
    memory_gib: float | None
    nvlink_domain: int | None
    partitions: Mapping[str, Partition]
    mpi: str | None


class Model(NamedTuple):
    """Facts of the model, by Megatron's names; `schemas/v1/model.schema.json` says what each means."""

    num_layers: int | None
    hidden_size: int | None
    ffn_hidden_size: int | None
    num_attention_heads: int | None
    num_query_groups: int | None
    kv_channels: int | None
    q_lora_rank: int | None
    kv_lora_rank: int | None
    qk_head_dim: int | None
    qk_pos_emb_head_dim: int | None
    v_head_dim: int | None
    attention_output_gate: bool | None
    qk_layernorm: bool | None
    add_bias_linear: bool | None
    add_qkv_bias: bool | None
    gated_linear_unit: bool | None
    normalization: str | None
    vocab_size: int | None
    share_embeddings_and_output_weights: bool | None
    max_position_embeddings: int | None
    num_experts: int | None
    moe_ffn_hidden_size: int | None
    moe_router_topk: int | None
    moe_shared_expert_intermediate_size: int | None
    moe_shared_expert_gate: bool | None
    moe_latent_size: int | None
    moe_layer_freq: int | str | None
    num_dense_layers: int | None
    mtp_num_layers: int | None
    attention: str | None
    linear_attention_freq: int | None
    linear_conv_kernel_dim: int | None
    linear_key_head_dim: int | None
    linear_value_head_dim: int | None
    linear_num_key_heads: int | None
    linear_num_value_heads: int | None
    hybrid_layer_pattern: str | None
    mamba_num_heads: int | None
    mamba_head_dim: int | None
    mamba_state_dim: int | None
    mamba_num_groups: int | None
    vision: bool | None
    vision_parameters_billion: float | None
    parameters_billion: float | None
    pipeline_layouts: tuple[tuple[int, int], ...]


class JobStep(NamedTuple):
    """One of several launches of a job.

    Attributes:
        unless_exists: a path that makes the step superfluous.
        pointer: JSON pointer of the step in the manifest.

    """

    name: str
    unless_exists: str | None
    pointer: str


class Spec(NamedTuple):
    """A job, whole; or one step of it, with all that the job says for it.

    Attributes:
        caches: environment variable of each shared cache and its path.
        step: what makes this a step; ``None`` in a job without steps.
        steps: of a job with steps, all of them; it is its first one itself.
        whole: of a job with steps, its tree, from which each has taken what it has use for.
        tree: the manifest's tree with the cluster's and the model's merged in, at ``/cluster`` and ``/model``.
            Each node keeps the place where it was written, so a message can point into any of the files.

    """

    name: str
    description: str | None
    framework: str
    task: str
    recipe: str | None
    step_func: str | None
    script: str | None
    args: Mapping[str, Any]
    target: str | None
    resources: Resources
    layout: Layout
    training: Training
    data: Data
    checkpoint: Checkpoint
    conversion: Conversion | None
    command: AnyCommand | None
    logging: Logging
    logs: str | None
    container: Container
    caches: Mapping[str, str]
    env: Mapping[str, str]
    secrets: tuple[str, ...]
    launch: Launch
    slurm: Slurm
    overrides: Mapping[str, Any]
    cluster: Cluster
    model: Model
    tree: Tree
    step: JobStep | None = None
    steps: tuple[Any, ...] = ()  # of Spec, which a named tuple cannot name in itself
    whole: Tree | None = None

    def says(self, pointer: str) -> bool:
        """Whether a value stands in the manifest, or in a file that it refers to: also one that is ``null``."""
        return find(self.tree, pointer) is not None

    @property
    def launches(self) -> tuple[Spec, ...]:
        """The launches of the job, in order: its steps, or the job itself."""
        return self.steps or (self,)

    @property
    def most_nodes(self) -> int:
        """Nodes that a job can have on its cluster and partition; more than any site has where that is not known."""
        partition = self.cluster.partitions.get(self.resources.partition or "")
        limits = (self.cluster.nodes, partition and partition.max_nodes)
        return min((limit for limit in limits if limit), default=1_000_000)

    @property
    def microbatches(self) -> int | None:
        """Whole microbatches that each data-parallel rank runs in a step; ``None`` where the batch is not said."""
        micro, batch = self.training.micro_batch_size, self.training.global_batch_size
        return None if micro is None or batch is None else batch // (micro * self.layout.dp)

    @property
    def nvlink_domain(self) -> int:
        """GPUs that NVLink connects; those of a node where the cluster's file does not say more."""
        return max(self.cluster.nvlink_domain or 0, self.resources.gpus_per_node)

    @property
    def exit_minutes(self) -> int | None:
        """Minutes after which the program saves and ends by itself, ``None`` where nobody asked for it."""
        margin = self.checkpoint.minutes_before_limit
        return None if margin is None else seconds(self.resources.time) // 60 - margin
