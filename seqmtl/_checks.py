"""Check values: numbers and integers within limits, one of several choices."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable
from reprlib import Repr
from typing import Any, NoReturn

from seqmtl.exceptions import ParameterError

_LONGEST = 80  # characters of a value in a message
_BRIEF = Repr()
_BRIEF.maxlevel, _BRIEF.maxstring, _BRIEF.maxlong = 2, 60, 40


def brief(value: Any) -> str:
    """Return a value as in Python code, shortened."""
    text = _BRIEF.repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def refuse(name: str, rule: str, value: Any, remedy: str = "") -> NoReturn:
    """Raise the error of a value that breaks a rule; it states the rule, then the remedy."""
    ending = f"; {remedy}" if remedy else ""
    raise ParameterError(f"must be {rule}, got {brief(value)}{ending}", name)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_finite_number(value: Any) -> bool:
    """Return whether a value is a number of the range of float, and not a bool."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:  # an integer beyond all floating-point numbers
        return False


def check_flag(name: str, value: Any) -> None:
    """Check that a value is True or False, or 1 or 0.

    Raises
    ------
    ValueError
        If it is not.
    """
    if str(value) not in ("True", "False", "1", "0"):
        refuse(name, "True or False", value, "")


def check_number(
    name: str,
    value: Any,
    *,
    min_val: float | None = None,
    max_val: float = math.inf,
    is_finite: bool = True,
    remedy: str = "",
) -> None:
    """Check that a value is a number above 0, or from `min_val`, up to `max_val`.

    Raises
    ------
    ValueError
        If it is not.
    """
    is_open = is_finite and math.isinf(max_val)
    is_right = is_finite_number(value) if is_open else is_number(value)
    if is_right and (value > 0 if min_val is None else value >= min_val) and value <= max_val:
        return
    start = f"a {'finite ' * is_open}number "
    if min_val is None:
        rule = start + "above 0" + ("" if math.isinf(max_val) else f" and at most {max_val:g}")
    elif is_open:
        rule = f"{start}of at least {min_val:g}" if math.isfinite(min_val) else start.rstrip()
    else:
        rule = f"{start}from {min_val:g} to {'infinity' if math.isinf(max_val) else f'{max_val:g}'}"
    refuse(name, rule, value, remedy)


def check_integer(
    name: str, value: Any, min_val: int | None, max_val: int | None = None, *, remedy: str = ""
) -> None:
    """Check that a value is an integer from `min_val` to `max_val`.

    Raises
    ------
    ValueError
        If it is not.
    """
    is_right = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if is_right and (min_val is None or value >= min_val) and (max_val is None or value <= max_val):
        return
    limits = "" if min_val is None else f" of at least {min_val}"
    refuse(
        name,
        f"an integer{limits if max_val is None else f' from {min_val} to {max_val}'}",
        value,
        remedy,
    )


def check_choice(name: str, value: Any, choices: Iterable[str | None]) -> None:
    """Check that a value is one of the choices.

    Raises
    ------
    ValueError
        If it is not; the message names the choices and the nearest match.
    """
    choices = tuple(choices)
    if not (value is None or isinstance(value, str)) or value not in choices:
        near = difflib.get_close_matches(str(value), filter(None, choices), n=1)
        remedy = f"did you mean {near[0]!r}?" if near else ""
        refuse(name, f"one of {', '.join(map(str, choices))}", value, remedy)
