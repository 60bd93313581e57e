"""Find and load the cluster and model files that a manifest names."""

from __future__ import annotations

import os.path
from collections.abc import Iterator

from jobspec.diagnostics.model import Code, Diagnostic, Sink
from jobspec.schema.suggest import closest
from jobspec.schema.validate import validate
from jobspec.spec import codes
from jobspec.spec.model_facts import check_facts
from jobspec.syntax.loader import load
from jobspec.syntax.nodes import Mapping, Scalar

_FOLDERS = {"cluster": "clusters", "model": "models"}
_UNKNOWN = {"cluster": codes.UNKNOWN_CLUSTER, "model": codes.UNKNOWN_MODEL}
_ROOT_MARKS = (".git", "pyproject.toml")
_SUFFIXES = (".yaml", ".yml")


class Library:
    """Loads each file once, however many manifests name it."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[str, str], tuple[Mapping | None, list[Diagnostic]]] = {}

    @property
    def paths(self) -> list[str]:
        """The files that were loaded."""
        return [path for _, path in self._loaded]

    def resolve(self, kind: str, manifest: Mapping, sink: Sink, pointer: str = "") -> Mapping | None:
        """Return the tree of the manifest's ``cluster`` or ``model``; report what is wrong with it.

        ``None`` where the manifest names none, or where there is an error. ``pointer`` is that of a step, in place of
        the manifest.
        """
        node = manifest.get(kind)
        if isinstance(node, Mapping):  # written out in the manifest, and checked with it
            if kind == "model":
                check_facts(node, sink, f"{pointer}/model")
            return node
        if not isinstance(node, Scalar):
            return None
        path = _locate(kind, node, sink, pointer)
        if path is None:
            return None
        if (kind, path) not in self._loaded:
            own = Sink(path)
            self._loaded[kind, path] = _load(kind, path, own), own.sorted()
        tree, found = self._loaded[kind, path]
        sink.extend(found)
        return tree


def known_names(kind: str, base: str) -> list[str]:
    """Return the names of the ``cluster`` or ``model`` files that a manifest in the folder ``base`` finds."""
    folders = [os.path.join(folder, _FOLDERS[kind]) for folder in _parents(base)]
    return sorted({name for folder in folders for name in _names_in(folder)})


def _load(kind: str, path: str, sink: Sink) -> Mapping | None:
    tree = load(path, sink)
    if tree is None or not check_kind(kind, tree, sink) or not validate(kind, tree, sink):
        return None
    if kind == "model":
        check_facts(tree, sink)
    return tree


def kind_of(tree: Mapping, sink: Sink) -> str | None:
    """Return the kind of file that a tree says it is: ``cluster``, ``model``, or ``job`` where it says nothing.

    ``None``, with a report, where it says something else.
    """
    node = tree.get("kind")
    if node is None:
        return "job"
    kind = str(node.value) if isinstance(node, Scalar) else ""
    if kind in _FOLDERS:
        return kind
    meant = closest(kind, _FOLDERS)
    sink.report(
        codes.WRONG_KIND,
        f"there is no kind of file `{kind}`" if kind else "the kind of a file is a name",
        at=node.span,
        pointer="/kind",
        notes=("a cluster file has `kind: cluster`, a model file `kind: model`, and a job manifest none",),
        help=(f"did you mean `{meant}`?",) if meant else ("remove it, if this is a job manifest",),
    )
    return None


def check_kind(wanted: str, tree: Mapping, sink: Sink) -> bool:
    """Return whether a tree is of the wanted kind; report where it is not."""
    kind = kind_of(tree, sink)
    if kind is None or kind == wanted:
        return kind is not None
    entry = tree.entries.get("kind")
    names = {"job": "a job manifest", "cluster": "a cluster file", "model": "a model file"}
    sink.report(
        codes.WRONG_KIND,
        f"this is {names[kind]}, but {names[wanted]} is wanted",
        at=entry.value.span if entry else None,
        pointer="/kind" if entry else "",
        help=() if wanted == "job" else (f"a {wanted} file begins with `kind: {wanted}`",),
    )
    return False


def _locate(kind: str, node: Scalar, sink: Sink, pointer: str) -> str | None:
    name = str(node.value)
    base = "" if sink.path == "<stdin>" else os.path.dirname(sink.path)
    if "/" in name or name.endswith(_SUFFIXES):
        return _shortest(os.path.join(base, name))
    folders = [os.path.normpath(os.path.join(folder, _FOLDERS[kind])) for folder in _parents(base)]
    for folder in folders:
        for suffix in _SUFFIXES:
            path = os.path.join(folder, name + suffix)
            if os.path.isfile(path):
                return path
    _report_unknown(_UNKNOWN[kind], kind, node, folders, sink, pointer)
    return None


def _shortest(path: str) -> str:
    """Return the path without `..` where that is the same file, which it is not behind a link."""
    short = os.path.normpath(path)
    return short if os.path.realpath(short) == os.path.realpath(path) else path


def _parents(base: str) -> Iterator[str]:
    """Yield the folder and its parents up to the repository's root; the folder alone where there is no repository.

    They are relative where ``base`` is, so that messages name them as the user would.
    """
    above, folder = [base], os.path.abspath(base)
    while not any(os.path.exists(os.path.join(folder, mark)) for mark in _ROOT_MARKS):
        parent = os.path.dirname(folder)
        if parent == folder:
            yield base
            return
        folder = parent
        above.append(os.path.join(base, *[os.pardir] * len(above)))
    yield from above


def _names_in(folder: str) -> list[str]:
    try:
        return [os.path.splitext(entry)[0] for entry in os.listdir(folder) if entry.endswith(_SUFFIXES)]
    except OSError:  # there is none, or it cannot be read
        return []


def _report_unknown(code: Code, kind: str, node: Scalar, folders: list[str], sink: Sink, pointer: str) -> None:
    known = [name for folder in folders for name in _names_in(folder)]
    meant = closest(str(node.value), known)
    listed = ", ".join(f"`{one}`" for one in sorted(known))
    sink.report(
        code,
        f"no file describes the {kind} `{node.value}`",
        at=node.span,
        pointer=f"{pointer}/{kind}",
        notes=(
            f"looked for `{node.value}.yaml` in " + ", ".join(f"`{folder}`" for folder in folders),
            f"known: {listed}" if known else f"there is no {kind} file in them",
        ),
        help=(f"did you mean `{meant}`?",) if meant else (f"write the file, or give its path: `{kind}: PATH.yaml`",),
    )
