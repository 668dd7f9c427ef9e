"""Check documents of JSON values against tables of rules: keys, types, ranges.

A rule is a function of the name and the value of an entry that raises ValueError. Unknown keys may
hold any finite JSON values; a format that gives them a meaning has another version.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from seqmtl._checks import check_choice, check_integer, check_number, is_finite_number, refuse

Rule = Callable[[str, Any], None]
T = TypeVar("T")

_DEEPEST = 20


def number(
    *, above: float | None = None, min_val: float = -math.inf, max_val: float = math.inf
) -> Rule:
    """Return the rule for a finite number within limits; `above` can only be 0."""
    return partial(check_number, min_val=None if above is not None else min_val, max_val=max_val)


def whole(min_val: int = 0, max_val: int = 1 << 53) -> Rule:
    """Return the rule for an integer within limits."""
    return partial(check_integer, min_val=min_val, max_val=max_val)


def flag(name: str, value: Any) -> None:
    """Check that a value is true or false."""
    if type(value) is not bool:
        refuse(name, "true or false", value)


def text(name: str, value: Any) -> None:
    """Check that a value is a text that can be written."""
    if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
        refuse(name, "a text", value)


def word(name: str, value: Any) -> None:
    """Check that a value is a text that is not empty."""
    text(name, value)
    if not value:
        refuse(name, "a name", value)


def choice(*values: str | None) -> Rule:
    """Return the rule for one of several texts (or none)."""
    return partial(check_choice, choices=values)


def either(kinds: tuple[type, ...], rule: Rule, other: Rule) -> Rule:
    """Return the rule that applies `rule` to values of some types, and `other` to all others."""
    return lambda name, value: (rule if isinstance(value, kinds) else other)(name, value)


def items(
    rule: Rule, min_items: int = 0, *, max_items: int | None = None, distinct: bool = False
) -> Rule:
    """Return the rule for a list whose entries follow a rule."""
    number_of = f"a list of {min_items} " + ("or more" if max_items is None else f"to {max_items}")

    def check(name: str, value: Any) -> None:
        if not isinstance(value, list) or not min_items <= len(value) <= (max_items or len(value)):
            refuse(name, number_of if min_items else "a list", value)
        for i, entry in enumerate(value):
            rule(f"{name}[{i}]", entry)
        if distinct and len(set(value)) < len(value):
            refuse(name, "a list without repetitions", value)

    return check


def mapping(rule: Rule, min_items: int = 0) -> Rule:
    """Return the rule for an object of any keys whose values follow a rule."""

    def check(name: str, value: Any) -> None:
        _object(name, value, min_items)
        for key, entry in value.items():
            rule(_join(name, key), entry)

    return check


def record(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """Return the rule for an object with keys of its own."""
    rules = {**required, **(optional or {})}

    def check(name: str, value: Any) -> None:
        _object(name, value)
        missing = next((key for key in required if key not in value), None)
        if missing is not None:
            raise ValueError(f"{_join(name, missing)} is missing")
        for key, entry in value.items():
            rules.get(key, anything)(_join(name, key), entry)

    return check


def rule_of(kind: Any) -> Rule:
    """Return the rule for the JSON values of a type; that of an annotated type is its annotation.

    Named tuples and dataclasses are objects.
    """
    if get_origin(kind) is Annotated:
        rule: Rule = kind.__metadata__[0]
        return rule
    if get_origin(kind) is UnionType:  # of a type and None
        return either((NoneType,), anything, rule_of(get_args(kind)[0]))
    plain: dict[Any, Rule] = {int: whole(), float: number(), bool: flag, str: text}
    if kind in plain:
        return plain[kind]
    return record({name: rule_of(hint) for name, hint in _hints(kind).items()})


def load(kind: type[T], name: str, value: Any) -> T:
    """Return the named tuple or dataclass of a JSON object, whose other keys are ignored.

    Raises
    ------
    ValueError
        If a field is missing, or does not follow the rule of its type.
    """
    rule_of(kind)(name, value)
    fields = {field: value[field] for field in _hints(kind)}
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()})


def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def anything(name: str, value: Any, depth: int = 0) -> None:
    """Check that a value is JSON of finite numbers, not too deeply nested."""
    if depth > _DEEPEST:
        refuse(name, "less deeply nested", value)
    if isinstance(value, Mapping):
        _object(name, value)
        for key, entry in value.items():
            anything(_join(name, key), entry, depth + 1)
    elif isinstance(value, list):
        for i, entry in enumerate(value):
            anything(f"{name}[{i}]", entry, depth + 1)
    elif isinstance(value, str):
        text(name, value)
    elif not (value is None or isinstance(value, bool) or is_finite_number(value)):
        refuse(name, "a finite number", value)


def _object(name: str, value: Any, least: int = 0) -> None:
    if not isinstance(value, Mapping) or len(value) < least:
        refuse(name or "the content", "an object" + " that is not empty" * bool(least), value)
    for key in value:
        text(f"a key of {name}", key)


def _join(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key
