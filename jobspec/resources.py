"""Where the schemas and the target templates are, in every kind of installation."""

from __future__ import annotations

import os.path
from functools import cache


@cache
def read_text(tree: str, *parts: str) -> str:
    """Return the text of one file of the ``schemas`` or ``targets`` tree.

    A built wheel carries the trees as ``jobspec/_data/…``; in an editable installation and in a bare checkout
    they are the package's siblings. A plain file is tried first, because ``importlib.resources``, which a
    zipped wheel needs, costs more start-up time than the rest of a compile's imports of ours.

    Raises:
        FileNotFoundError: there is no such file.

    """
    package = os.path.dirname(os.path.abspath(__file__))
    for root in (os.path.join(package, "_data"), os.path.dirname(package)):
        path = os.path.join(root, tree, *parts)
        if os.path.isfile(path):
            with open(path, encoding="utf-8", newline="") as file:
                return file.read()

    from importlib.resources import files

    try:
        return files("jobspec").joinpath("_data", tree, *parts).read_text(encoding="utf-8")
    except (FileNotFoundError, KeyError, NotADirectoryError):
        raise FileNotFoundError("/".join((tree, *parts))) from None
