"""How the layers of a model can be dealt to the stages of a pipeline."""

from __future__ import annotations

from typing import NamedTuple

from jobspec.memory.settings import Settings
from jobspec.memory.stages import Uneven, deal
from jobspec.spec.model import Spec


class Dealing(NamedTuple):
    """Stages, chunks of each (``None`` for one), and the layout to write where they cannot be dealt evenly."""

    pp: int
    vpp: int | None
    pipeline: str | None


#: More chunks than this make a pipeline of sends and receives.
_MOST_CHUNKS = 8
_MOST_WRITTEN = 2  # of a written layout: each pair is one more text to read


def dealings(spec: Spec, layers: int, mtp: int, settings: Settings) -> tuple[Dealing, ...]:
    """Return what can be tried: the pairs of the recipe's own table, else what divides evenly, else a written layout.

    Where a pattern deals the layers, only the manifest's own can.
    """
    own = Dealing(spec.layout.pp, spec.layout.vpp, spec.layout.pipeline)
    world = spec.layout.world
    if spec.model.hybrid_layer_pattern or "hybrid-layer-pattern" in spec.args:
        return (own,)
    table = spec.model.pipeline_layouts if spec.recipe else ()
    if table:
        pairs = [Dealing(pp, vpp if vpp > 1 else None, None) for pp, vpp in table if world % pp == 0]
        return tuple(dict.fromkeys(pairs))
    uneven = settings.uneven != Uneven()
    found = [own] if own.pipeline else []
    for pp in (size for size in range(1, min(world, layers + 2) + 1) if world % size == 0):
        for chunks in range(1, _MOST_CHUNKS + 1 if pp > 1 else 2):
            vpp = chunks if chunks > 1 else None
            if (layers // pp) % chunks == 0 and deal(layers, pp, vpp, None, mtp, settings.uneven)[1]:
                found.append(Dealing(pp, vpp, None))
            elif not uneven and layers % pp and chunks <= _MOST_WRITTEN:
                text = balanced(layers, pp, chunks, mtp)
                found += [Dealing(pp, vpp, text)] if text else []
    return tuple(dict.fromkeys(found))


def balanced(layers: int, pp: int, chunks: int, mtp: int) -> str | None:
    """Return Megatron's text of a layout in which embedding, loss and further predictions count as a layer each.

    The first stage has the embedding, the last the loss and all predictions; the stages in the middle get what does
    not divide. ``None`` where a stage would be left without a layer of its own, but for the last one.
    """
    count = pp * chunks
    last = max(0, (layers + 2 + mtp) // count - 1 - mtp)
    base, more = divmod(layers - last + 1, count - 1)
    if base < 2:
        return None
    sizes = [base] * (count - 1)
    for index in range(more):  # from the back, where stages hold fewer activations
        sizes[-1 - index] += 1
    parts = ["E" + "t" * (sizes[0] - 1), *("t" * size for size in sizes[1:]), "t" * last + "m" * mtp + "L"]
    return _written(parts)


def _written(parts: list[str]) -> str:
    """Return a layout with runs of equal stages as `(tt|)*n`."""
    text, index = "", 0
    while index < len(parts):
        part, run = parts[index], 1
        while index + run < len(parts) and parts[index + run] == part:
            run += 1
        if run > 1 and index + run < len(parts):
            text += f"({part}|)*{run}"
        else:
            text += "|".join([part] * run) + ("|" if index + run < len(parts) else "")
        index += run
    return text
