"""Say why a tree is invalid: `jsonschema` finds the errors, the words and the places are ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, TypeChecker, ValidationError, validators

from jobspec.diagnostics.model import Code, Sink
from jobspec.schema import codes
from jobspec.schema.gate import is_integer, is_number, search_pattern
from jobspec.schema.suggest import closest
from jobspec.source import Span
from jobspec.syntax import nodes
from jobspec.values import show_value

_TYPE_NAMES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "`true` or `false`",
    "null": "`null`",
    "array": "a list",
    "object": "a mapping",
}


def _pattern(_validator: Any, pattern: str, instance: object, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not search_pattern(pattern).search(instance):
        yield ValidationError("wrong form")


_types: TypeChecker = Draft202012Validator.TYPE_CHECKER.redefine_many(
    {"integer": lambda _checker, v: is_integer(v), "number": lambda _checker, v: is_number(v)}
)
STRICT = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"pattern": _pattern}, type_checker=_types
)


def explain(schema: dict[str, Any], root: nodes.Mapping, sink: Sink) -> None:
    """Report every reason why a tree is invalid under a schema, one diagnostic a cause."""
    errors = list(STRICT(schema).iter_errors(root.data()))
    # An unknown key first: where it is a misspelling of a missing one, the missing one is no second cause.
    errors.sort(key=lambda error: error.validator != "additionalProperties")
    misspelt: set[tuple[str, str]] = set()
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    for error in errors:
        if error.validator != "type" and _is_consequence(error, mistyped):
            continue
        pointer = "".join(nodes.join_pointer("", part) for part in error.absolute_path)
        _EXPLAINERS[str(error.validator)](_Finding(schema, root, sink, error, pointer, misspelt))


def _is_consequence(error: ValidationError, mistyped: set[tuple[Any, ...]]) -> bool:
    """Whether a value, or an item of a list whose items are compared, is of the wrong type to begin with."""
    path = tuple(error.absolute_path)
    return path in mistyped or (error.validator == "uniqueItems" and any(one[:-1] == path for one in mistyped))


class _Finding:
    """One error of the validator, with what is needed to explain it."""

    def __init__(
        self,
        schema: dict[str, Any],
        root: nodes.Mapping,
        sink: Sink,
        error: ValidationError,
        pointer: str,
        misspelt: set[tuple[str, str]],
    ) -> None:
        self.schema = schema
        self.root = root
        self.sink = sink
        self.error = error
        self.pointer = pointer
        self.misspelt = misspelt
        self.wanted: Any = error.validator_value
        self.value: Any = error.instance
        self.is_key = "propertyNames" in error.absolute_schema_path
        if self.is_key:  # the validator names the object; the fault is in one of its keys
            self.pointer = nodes.join_pointer(pointer, str(error.instance))

    @property
    def name(self) -> str:
        """The last named part of the place, for messages."""
        parts = [part for part in nodes.split_pointer(self.pointer) if not part.isdecimal()]
        return parts[-1] if parts else "the document"

    @property
    def subject(self) -> str:
        """The value, as a message begins with it."""
        is_item = not self.is_key and self.pointer.rpartition("/")[2].isdecimal()
        return f"an item of `{self.name}`" if is_item else f"`{self.name}`"

    @property
    def span(self) -> Span:
        """The smallest place to blame."""
        if self.is_key:
            key = nodes.find_key(self.root, self.pointer)
            return key.span if key else self.root.span
        node = nodes.find(self.root, self.pointer)
        return node.span if node else self.root.span

    def report(self, kind: Code, message: str, **more: Any) -> None:
        """Report with the place and, where the schema has one, an example."""
        more.setdefault("at", self.span)
        self.sink.report(kind, message, pointer=more.pop("pointer", self.pointer), **more)

    def example(self) -> tuple[str, ...]:
        """A help line with the schema's first example of the value."""
        examples = _mapping(self.error.schema).get("examples")
        named = "" if self.subject.startswith("an item") else f"{self.name}: "
        return (f"for instance `{named}{show_value(examples[0])}`",) if examples else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _unknown_keys(finding: _Finding) -> None:
    known = _mapping(finding.error.schema).get("properties", {})
    for name in _mapping(finding.value):
        if name in known:
            continue
        pointer = nodes.join_pointer(finding.pointer, name)
        key = nodes.find_key(finding.root, pointer)
        # Only at the top is a section that knows the key a better guess than a similar key of this one.
        is_top = re.fullmatch(r"(/steps/\d+)?", finding.pointer)
        homes = _sections_with(finding.schema, name) if is_top or not closest(name, known) else []
        meant = None if homes else closest(name, known.keys() - finding.value.keys())
        if meant:
            finding.misspelt.add((finding.pointer, meant))
        finding.report(
            codes.UNKNOWN_KEY,
            f"unknown key `{name}`",
            at=key.span if key else None,
            pointer=pointer,
            notes=() if meant or homes else ("known here: " + ", ".join(f"`{one}`" for one in sorted(known)),),
            help=(f"did you mean `{meant}`?",)
            if meant
            else tuple(f"`{name}` belongs in {_home(home, known)}" for home in homes),
        )


def _home(section: str, known: Mapping[str, Any]) -> str:
    return f"`{section}`" if not known or section in known or "steps" in known else f"the job's `{section}`"


def _sections_with(schema: dict[str, Any], name: str) -> list[str]:
    """Return the sections of the document that know a key, where it is not known at its place."""
    found = []
    for section, part in schema.get("properties", {}).items():
        if section == "matrix":  # its words are too plain to be anybody's misplaced key
            continue
        target = schema["$defs"].get(part.get("$ref", "").removeprefix("#/$defs/"), part)
        if name in target.get("properties", {}):
            found.append(section)
    return found


def _missing_keys(finding: _Finding) -> None:
    instance = _mapping(finding.value)
    for name in finding.wanted:
        if name in instance or (finding.pointer, name) in finding.misspelt:
            continue
        key = nodes.find_key(finding.root, finding.pointer) if finding.pointer else None
        start = finding.span.start
        example = _property(finding, name).get("examples")
        finding.report(
            codes.MISSING_KEY,
            f"key `{name}` is missing" + (f" in `{finding.name}`" if finding.pointer else ""),
            at=key.span if key else Span(finding.span.source, start, start),
            notes=[text] if (text := _property(finding, name).get("description")) else (),
            help=(f"add `{name}: {show_value(example[0])}`, with your value",) if example else (),
        )


def _property(finding: _Finding, name: str) -> Mapping[str, Any]:
    part = _mapping(finding.error.schema)
    target = finding.schema["$defs"].get(part.get("$ref", "").removeprefix("#/$defs/"), part)
    found: Mapping[str, Any] = target.get("properties", {}).get(name, {})
    return _mapping(finding.schema["$defs"].get(found.get("$ref", "").removeprefix("#/$defs/"), found))


def _wrong_type(finding: _Finding) -> None:
    wanted = [finding.wanted] if isinstance(finding.wanted, str) else list(finding.wanted)
    value = finding.value
    help_lines = finding.example()
    if "string" in wanted and isinstance(value, (int, float)):
        if STRICT(_mapping(finding.error.schema)).is_valid(str(value)):
            help_lines = ("write it in quotes, as text",)
    elif isinstance(value, str) and {"integer", "number"} & set(wanted) and re.fullmatch(r"-?[0-9]+", value):
        help_lines = (f"write `{value}` without quotes",)
    finding.report(
        codes.WRONG_TYPE,
        f"{finding.subject} is {_describe(value)}, but {' or '.join(_TYPE_NAMES[name] for name in wanted)} is wanted",
        help=help_lines,
    )


def _describe(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    kind = "the text" if isinstance(value, str) else "the number" if is_number(value) else ""
    return f"{kind} `{show_value(value)}`".lstrip()


def _not_a_choice(finding: _Finding) -> None:
    choices = finding.wanted if isinstance(finding.wanted, list) else [finding.wanted]
    value = finding.value
    meant = closest(value, [one for one in choices if isinstance(one, str)]) if isinstance(value, str) else None
    listed = ", ".join(f"`{show_value(one)}`" for one in choices)
    finding.report(
        codes.NOT_A_CHOICE,
        f"{finding.subject} cannot be `{show_value(value)}`",
        notes=(f"it is one of {listed}" if len(choices) > 1 else f"it is always {listed}",),
        help=(f"did you mean `{meant}`?",) if meant else (),
    )


def _wrong_form(finding: _Finding) -> None:
    value = show_value(finding.value)
    schema = _mapping(finding.error.schema)
    wanted = schema.get("patternErrorMessage", f"text that matches `{finding.wanted}`")
    what = "this name" if finding.is_key else finding.subject
    finding.report(
        codes.WRONG_FORM,
        f"{what} is `{value}`, but has to be {wanted}",
        notes=[text] if (text := schema.get("description")) else (),
        help=() if finding.is_key else finding.example(),
    )


def _range(word: str) -> Callable[[_Finding], None]:
    def report(finding: _Finding) -> None:
        value = show_value(finding.value)
        finding.report(
            codes.OUT_OF_RANGE,
            f"{finding.subject} is {value}, but must be {word} {finding.wanted}",
            help=finding.example(),
        )

    return report


def _length(unit: str, word: str) -> Callable[[_Finding], None]:
    def report(finding: _Finding) -> None:
        size = len(finding.value)
        units = unit if size == 1 else unit + "s"
        finding.report(
            codes.WRONG_LENGTH,
            f"{finding.subject} has {size:,} {units}, but must have {word} {finding.wanted:,}",
        )

    return report


def _repeated_item(finding: _Finding) -> None:
    seen: list[Any] = []
    for index, item in enumerate(finding.value):
        if item in seen:
            pointer = nodes.join_pointer(finding.pointer, index)
            node = nodes.find(finding.root, pointer)
            finding.report(
                codes.REPEATED_ITEM,
                f"`{show_value(item)}` stands twice in `{finding.name}`",
                at=node.span if node else None,
                pointer=pointer,
                help=("remove one of the two",),
            )
        seen.append(item)


_EXPLAINERS: dict[str, Callable[[_Finding], None]] = {
    "additionalProperties": _unknown_keys,
    "required": _missing_keys,
    "type": _wrong_type,
    "enum": _not_a_choice,
    "const": _not_a_choice,
    "pattern": _wrong_form,
    "minimum": _range("at least"),
    "exclusiveMinimum": _range("above"),
    "maximum": _range("at most"),
    "maxLength": _length("character", "at most"),
    "minItems": _length("item", "at least"),
    "maxItems": _length("item", "at most"),
    "minProperties": _length("key", "at least"),
    "uniqueItems": _repeated_item,
}
