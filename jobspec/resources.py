"""Where the data files are, in every kind of installation."""

from __future__ import annotations

import os.path
from functools import cache

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


@cache
def read_text(tree: str, *parts: str) -> str:
    """Return the text of one file of the ``schemas``, ``targets`` or ``signatures`` tree.

    A built wheel carries the trees as ``jobspec/_data/…``; in an editable installation and in a bare checkout
    they are the package's siblings.

    Raises:
        FileNotFoundError: there is no such file.
    """
    beside = os.path.join(os.path.dirname(_PACKAGE), tree, *parts)
    if not os.path.isdir(os.path.join(_PACKAGE, "_data")) and os.path.isfile(beside):
        return _read_file(beside)
    return read_package_text("_data", tree, *parts)


def read_package_text(*parts: str) -> str:
    """Return the text of a file inside of the package.

    A plain file is tried first, because ``importlib.resources``, which a zipped wheel needs, costs more start-up time
    than the rest of a compile's imports of ours.

    Raises:
        FileNotFoundError: there is no such file.
    """
    path = os.path.join(_PACKAGE, *parts)
    if os.path.isfile(path):
        return _read_file(path)
    from importlib.resources import files

    try:
        return files("jobspec").joinpath(*parts).read_text(encoding="utf-8")
    except (FileNotFoundError, KeyError, NotADirectoryError):
        raise FileNotFoundError("/".join(parts)) from None


def _read_file(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()
