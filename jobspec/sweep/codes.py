"""The codes of sweeps."""

from __future__ import annotations

from jobspec.diagnostics.model import Code, Severity

AXIS_WITHOUT_A_KEY = Code(
    "JS284",
    "axis-without-a-key",
    Severity.ERROR,
    """\
Finds an axis of a matrix that names no key that can vary.

Why it matters: a key that is passed over leaves all points of the sweep the same. `name`, `cluster` and `matrix` make
the sweep what it is, and the keys of a step, or of a file that the manifest names, are not reached by a path.

Example:

```yaml
matrix: {values: {training.learning_rate: [1.0e-4, 3.0e-4]}}
```

Use instead:

```yaml
matrix: {values: {training.lr: [1.0e-4, 3.0e-4]}}
```

Source: schemas/v1/job.schema.json; docs/guide.md, "Sweeps"
""",
)

KEY_ON_TWO_AXES = Code(
    "JS285",
    "key-on-two-axes",
    Severity.ERROR,
    """\
Finds two axes of a matrix that set the same key, or of which one sets a part of what the other sets.

Why it matters: one of the two would win, and points that look different would be the same job.

Example:

```yaml
matrix:
  values:
    training.lr: [1.0e-4, 3.0e-4]
    rates: [{training.lr: 1.0e-5, training.min_lr: 1.0e-6}, {training.lr: 1.0e-3, training.min_lr: 1.0e-4}]
```

Use instead:

```yaml
matrix:
  values:
    rates: [{training.lr: 1.0e-5, training.min_lr: 1.0e-6}, {training.lr: 1.0e-3, training.min_lr: 1.0e-4}]
```

Source: docs/guide.md, "Sweeps"
""",
)

EXCLUSION_OF_NO_POINT = Code(
    "JS286",
    "exclusion-of-no-point",
    Severity.ERROR,
    """\
Finds an `exclude` of a matrix that no point agrees with.

Why it matters: what was to be left out runs, or a slip in a value hides in it.

Example:

```yaml
matrix:
  values: {training.lr: [1.0e-4, 3.0e-4]}
  exclude: [{training.lr: 2.0e-4}]
```

Use instead:

```yaml
matrix:
  values: {training.lr: [1.0e-4, 2.0e-4, 3.0e-4]}
  exclude: [{training.lr: 2.0e-4}]
```

Source: docs/guide.md, "Sweeps"
""",
)

MISFIT_POINT = Code(
    "JS287",
    "misfit-point",
    Severity.ERROR,
    """\
Finds a point that does not fit its matrix.

Why it matters: a point has one value for each axis, and runs once. One that is included must not be there already, and
the values of a group of keys all set the same keys.

Example:

```yaml
matrix:
  values: {training.lr: [1.0e-4, 3.0e-4]}
  include: [{training.lr: 3.0e-4}]
```

Use instead:

```yaml
matrix:
  values: {training.lr: [1.0e-4, 3.0e-4]}
  include: [{training.lr: 1.0e-3}]
```

Source: docs/guide.md, "Sweeps"
""",
)

WRONG_NUMBER_OF_POINTS = Code(
    "JS288",
    "wrong-number-of-points",
    Severity.ERROR,
    """\
Finds a matrix without points, or with more than 1,000.

Why it matters: axes multiply, so that a few long ones come to millions of jobs, and Slurm takes some thousands.

Example:

```yaml
matrix:
  values: {training.lr: [1.0e-4]}
  exclude: [{training.lr: 1.0e-4}]
```

Use instead:

```yaml
matrix: {values: {training.lr: [1.0e-4]}}
```

Source: slurm.conf(5), MaxJobCount and MaxArraySize
""",
)

WRONG_POINT_NAME = Code(
    "JS289",
    "wrong-point-name",
    Severity.ERROR,
    """\
Finds points of a matrix with the same name, or with one that a job cannot have.

Why it matters: the name is that of the job, its script and its logs; two points with one name would be taken for
each other.

Example:

```yaml
matrix:
  values: {training.lr: [1.0e-4, 3.0e-4], training.seed: [1, 2]}
  names: "lr{training.lr}"
```

Use instead:

```yaml
matrix:
  values: {training.lr: [1.0e-4, 3.0e-4], training.seed: [1, 2]}
  names: "lr{training.lr}-seed{training.seed}"
```

Source: sbatch(1), --job-name
""",
)

POINTS_SHARE_A_FOLDER = Code(
    "JS290",
    "points-share-a-folder",
    Severity.ERROR,
    """\
Finds points of a sweep that write to the same folder: checkpoints, TensorBoard's events, profiles or a converted model.

Why it matters: they run at the same time, overwrite each other's checkpoints, and go on from them when they start
again.

Example:

```yaml
matrix: {values: {training.lr: [1.0e-4, 3.0e-4]}}
checkpoint: {pretrained: /lustre/models/glm, save: /lustre/results/run, minutes_before_limit: 15}
```

Use instead:

```yaml
matrix: {values: {training.lr: [1.0e-4, 3.0e-4]}}
checkpoint: {pretrained: /lustre/models/glm, save: "/lustre/results/run/{sweep.point}", minutes_before_limit: 15}
```

Source: docs/guide.md, "Sweeps"
""",
)

UNLIKE_TASKS = Code(
    "JS295",
    "unlike-tasks",
    Severity.ERROR,
    """\
Finds points of a job array that ask Slurm for different things, or a matrix and `slurm.array` together.

Why it matters: an array is one request: all of its tasks have the same nodes, time, partition and other options.

Example:

```yaml
matrix: {values: {resources.time: ["12:00:00", "24:00:00"]}, array: {}}
```

Use instead:

```yaml
matrix: {values: {resources.time: ["12:00:00", "24:00:00"]}}
```

Source: sbatch(1), --array
""",
)

POINT_UNSAID = Code(
    "JS296",
    "point-unsaid",
    Severity.ERROR,
    """\
Finds a sweep where one job is wanted, or the name of a point that is not there.

Why it matters: `trace`, `plan`, `diff` and `doctor` look at one job.

Example: `jobspec plan sweep.yaml`

Use instead: `jobspec plan sweep.yaml --point lr1.0e-4-tp2`

Source: docs/guide.md, "Sweeps"
""",
)

UNKNOWN_PLACEHOLDER = Code(
    "JS297",
    "unknown-placeholder",
    Severity.ERROR,
    """\
Finds `{sweep.…}` with another word than `point` in a text of a sweep.

Why it matters: it would stand in a path as it is, the same for all points.

Example:

```yaml
matrix: {values: {training.lr: [1.0e-4, 3.0e-4]}}
description: "The point {sweep.name}"
```

Use instead:

```yaml
matrix: {values: {training.lr: [1.0e-4, 3.0e-4]}}
description: "The point {sweep.point}"
```

Source: docs/guide.md, "Sweeps"
""",
)

CODES = (
    *(AXIS_WITHOUT_A_KEY, KEY_ON_TWO_AXES, EXCLUSION_OF_NO_POINT, MISFIT_POINT, WRONG_NUMBER_OF_POINTS),
    *(WRONG_POINT_NAME, POINTS_SHARE_A_FOLDER, UNLIKE_TASKS, POINT_UNSAID, UNKNOWN_PLACEHOLDER),
)
