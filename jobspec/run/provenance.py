"""What a job is made of: the texts that were read, and the commit that they are from."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from jobspec.spec.model import Spec
from jobspec.syntax.nodes import walk

_SECONDS = 5.0  # a repository on a slow file system is no reason to wait


def files_of(spec: Spec) -> tuple[tuple[str, str], ...]:
    """Return path and SHA-256 of each text that a job was read from, the manifest first.

    They are of what was read, not of what lies there now. A byte-order mark is no part of it.
    """
    trees = [tree for one in (spec, *spec.steps) for tree in (one.tree, one.whole) if tree is not None]
    sources = {id(source): source for tree in trees for source in (node.span.source for node in walk(tree))}
    manifest = spec.tree.span.source
    rest = sorted((one for one in sources.values() if one is not manifest), key=lambda one: one.path)
    return tuple((_absolute(one.path), sha256(one.text.encode()).hexdigest()) for one in (manifest, *rest))


def _absolute(path: str) -> str:
    return path if path == "<stdin>" else os.path.abspath(path)


def digest_of(files: tuple[tuple[str, str], ...], target: str | None) -> str:
    """Return one digest for all files, and the kind of script that the command line asks for."""
    return sha256("\n".join([*(digest for _, digest in files), target or ""]).encode()).hexdigest()


class Git(NamedTuple):
    """A question to git that is under way, while other things are done."""

    status: subprocess.Popen[bytes] | None

    def answer(self, files: tuple[tuple[str, str], ...]) -> tuple[str, bool] | None:
        """Return the commit, and whether the tree was dirty; ``None`` without a repository or an answer in time."""
        if self.status is None:
            return None
        try:
            out, _ = self.status.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            self.status.kill()
            self.status.communicate()
            return None
        head, _, rest = out.decode(errors="replace").partition("# branch.oid ")
        commit, _, rest = rest.partition("\n")
        if self.status.returncode or len(commit) < 40 or not commit.isalnum():  # `(initial)` before the first commit
            return None
        changed = any(line and not line.startswith("#") for line in (head + rest).splitlines())
        return commit, changed or _untracked([path for path, _ in files if path != "<stdin>"])


def ask_git(manifest: str) -> Git:
    """Ask git for the commit and the state of a manifest's repository."""
    if manifest == "-":
        return Git(None)
    # porcelain=v2 --branch gives both at once; without the optional locks nothing of the repository is written.
    words = ["status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    return Git(_git(os.path.dirname(manifest) or ".", *words))


def _untracked(files: list[str]) -> bool:
    """Return whether a file is in no repository."""
    asked = [_git(os.path.dirname(path), "ls-files", "--error-unmatch", "--", os.path.basename(path)) for path in files]
    return any(one is None or one.wait() != 0 for one in asked)


def _git(folder: str, *words: str) -> subprocess.Popen[bytes] | None:
    with suppress(OSError):  # there is no git
        return subprocess.Popen(  # noqa: S603 (a list of words)
            ["git", "-C", folder, *words],  # noqa: S607 (the user's git)
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if words[0] == "status" else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
        )
    return None
