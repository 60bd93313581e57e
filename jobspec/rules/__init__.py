"""The rules: laws between two or more values. A rule's docstring is its documentation.

To add one: a function in its topic's module, its name in ``RULES``, and an invalid manifest in ``tests/invalid``.
"""

from jobspec.diagnostics.model import Sink
from jobspec.rules import (
    batch,
    container,
    environment,
    framework,
    mlm,
    model,
    parallelism,
    pipeline,
    recipe,
    schedule,
    site,
    slurm,
)
from jobspec.rules.registry import Report, Rule
from jobspec.spec.model import Spec

#: In the order of their codes, which is the order in which they run.
RULES: tuple[Rule, ...] = (
    parallelism.indivisible_world,
    parallelism.indivisible_expert_world,
    parallelism.interleaving_without_stages,
    parallelism.indivisible_sequence,
    batch.indivisible_batch,
    batch.too_few_microbatches,
    pipeline.uneven_pipeline,
    pipeline.uneven_virtual_pipeline,
    pipeline.unknown_pipeline_layout,
    model.uneven_heads,
    model.uneven_query_groups,
    model.uneven_experts,
    model.experts_without_sequence_parallelism,
    pipeline.wrong_pipeline_layout,
    recipe.recipe_for_another_task,
    recipe.recipe_for_other_gpus,
    recipe.override_of_a_section,
    recipe.finetuning_without_weights,
    recipe.paths_without_their_dataset,
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
    framework.task_of_another_framework,
    framework.key_of_another_task,
    framework.missing_key_of_the_task,
    framework.conversion_with_wrong_paths,
    framework.inference_without_coordinator,
    mlm.unknown_argument,
    mlm.argument_with_wrong_value,
    mlm.argument_of_a_section,
    mlm.missing_argument,
    slurm.option_set_twice,
    slurm.no_time_to_save,
    site.missing_site_value,
    site.unknown_partition,
    site.time_out_of_range,
    site.nodes_out_of_range,
)


def check(spec: Spec, sink: Sink) -> None:
    """Run every rule whose finding would not be the consequence of one that is already reported."""
    for rule in RULES:
        if not (rule.unless and sink.reported(rule.unless)):
            rule.check(spec, Report(rule.kind, spec, sink))
