"""What the word of a site for a GPU means: product, architecture, memory.

Memory is what NVIDIA sells the product with, in GB; a program finds a little less or more GiB (`nvidia-smi` tells).
Source: NVIDIA's data sheets of the products; architectures as in the CUDA compute capability table (A100 and A30 8.0,
A10 and A40 8.6, H100 to GH200 9.0, B200 to GB300 10.x).
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Product(NamedTuple):
    """A GPU: ``architecture`` as cluster files spell it, ``None`` for one that they have no word for."""

    name: str
    architecture: str | None
    memory_gb: tuple[int, ...]
    nvlink_domain: int | None = None


#: In the order of the search: a longer word before one that is a part of it.
PRODUCTS = (
    ("gb300", Product("GB300", "blackwell", (288,), 72)),
    ("gb200", Product("GB200", "blackwell", (186,), 72)),
    ("gh200", Product("GH200", "hopper", (96, 144))),
    ("b300", Product("B300", "blackwell", (288,))),
    ("b200", Product("B200", "blackwell", (180,))),
    ("b100", Product("B100", "blackwell", (180,))),
    ("h200", Product("H200", "hopper", (141,))),
    ("h800", Product("H800", "hopper", (80,))),
    ("h100", Product("H100", "hopper", (80, 94))),
    ("h20", Product("H20", "hopper", (96, 141))),
    ("a100", Product("A100", "ampere", (40, 80))),
    ("a800", Product("A800", "ampere", (40, 80))),
    ("a40", Product("A40", "ampere", (48,))),
    ("a30", Product("A30", "ampere", (24,))),
    ("a10", Product("A10", "ampere", (24,))),
    ("l40s", Product("L40S", None, (48,))),
    ("v100", Product("V100", None, (16, 32))),
)

# Such as 1g.5gb: a slice of a GPU, which is none that a training can count on.
_SLICE = re.compile(r"\dg\.\d+gb", re.IGNORECASE)
_MEMORY = re.compile(r"(?<![\d.])(\d{2,3})gb?(?![a-z])", re.IGNORECASE)


def product_of(word: str | None) -> Product | None:
    """Return the product that a gres type names, such as ``h100`` or ``nvidia_h100_80gb_hbm3``."""
    if not word or is_slice(word):
        return None
    for part, product in PRODUCTS:
        if re.search(rf"(?<![a-z0-9]){part}(?![0-9])", word.lower()):
            said = [int(one) for one in _MEMORY.findall(word)]
            return product._replace(memory_gb=tuple(said[:1])) if said else product
    return None


def is_slice(word: str | None) -> bool:
    """Return whether a gres type names a slice of a GPU (MIG)."""
    return bool(word and _SLICE.search(word))
