"""The rules: laws between two or more values. A rule's docstring is its documentation.

To add one: a function in its topic's module, its name in ``RULES``, and an invalid manifest in ``tests/invalid``.
"""

from jobspec.diagnostics.model import Sink
from jobspec.rules import (
    arguments,
    batch,
    container,
    data,
    environment,
    framework,
    launch,
    memory,
    model,
    parallelism,
    pipeline,
    recipe,
    schedule,
    settings,
    site,
    slurm,
)
from jobspec.rules.allow import apply_allowances
from jobspec.rules.registry import Report, Rule
from jobspec.rules.steps import STEP_RULES as STEP_RULES
from jobspec.spec.model import Spec

#: In the order of their codes, which is the order in which they run.
RULES: tuple[Rule, ...] = (
    parallelism.ranks_without_gpus,
    parallelism.indivisible_world,
    parallelism.indivisible_expert_world,
    parallelism.interleaving_without_stages,
    parallelism.indivisible_sequence,
    parallelism.tensor_parallel_over_nodes,
    batch.indivisible_batch,
    batch.too_few_microbatches,
    batch.starved_pipeline,
    batch.indivisible_evaluation,
    batch.indivisible_optimizer,
    pipeline.uneven_pipeline,
    pipeline.uneven_virtual_pipeline,
    pipeline.unknown_pipeline_layout,
    model.uneven_heads,
    model.uneven_query_groups,
    model.uneven_experts,
    model.experts_without_sequence_parallelism,
    pipeline.wrong_pipeline_layout,
    model.experts_with_bias,
    recipe.recipe_for_another_task,
    recipe.recipe_for_other_gpus,
    recipe.override_of_a_section,
    recipe.finetuning_without_weights,
    data.paths_without_their_dataset,
    recipe.override_set_twice,
    recipe.override_against_model,
    schedule.min_lr_above_lr,
    schedule.warmup_without_end,
    schedule.warmup_longer_than_decay,
    environment.reserved_variable,
    environment.secret_in_text,
    environment.variable_and_secret,
    container.mounts_on_one_target,
    container.registry_with_slash,
    container.path_under_no_mount,
    container.container_local_caches,
    framework.task_of_another_framework,
    framework.key_of_another_task,
    framework.missing_key_of_the_task,
    framework.conversion_with_wrong_paths,
    framework.inference_without_coordinator,
    recipe.unknown_recipe,
    data.refused_dataset,
    data.dataset_without_its_place,
    data.mock_data_unsaid,
    arguments.unknown_argument,
    arguments.argument_with_wrong_value,
    arguments.argument_of_a_section,
    arguments.missing_argument,
    arguments.contradicting_sizes,
    arguments.single_expert_after_softmax,
    arguments.gpt2_tokenizer_unsaid,
    settings.contradicting_settings,
    settings.setting_without_its_partner,
    slurm.option_set_twice,
    slurm.no_time_to_save,
    launch.profile_out_of_range,
    launch.warmup_without_its_container,
    launch.uneven_numa_nodes,
    launch.nothing_saved,
    launch.ranks_with_one_cpu,
    launch.sync_into_readonly_container,
    slurm.array_saves_to_one_folder,
    slurm.killed_at_the_limit,
    memory.weights_above_memory,
    memory.estimate_above_memory,
    launch.resume_without_its_needs,
    site.missing_site_value,
    site.unknown_partition,
    site.time_out_of_range,
    site.nodes_out_of_range,
)


def check(spec: Spec, sink: Sink) -> None:
    """Run every rule on each launch of a job, then those on its steps together; drop the warnings that it allows."""
    for one in spec.launches:
        own = Sink(sink.path)
        _run(RULES, one, own)
        sink.extend(own.sorted())
    if spec.steps:
        _run(STEP_RULES, spec, sink)
    apply_allowances(spec, sink)


def _run(rules: tuple[Rule, ...], spec: Spec, sink: Sink) -> None:
    """Run every rule whose finding would not be the consequence of one that is already reported."""
    for rule in rules:
        if not (rule.unless and sink.reported(rule.unless)):
            rule.check(spec, Report(rule.kind, spec, sink))
        if rule is parallelism.ranks_without_gpus and sink.has_errors:
            return  # no law of sizes holds for none
