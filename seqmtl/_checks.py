"""Check values: numbers and integers within limits, one of several choices."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable
from reprlib import Repr
from typing import Any, NoReturn

_LONGEST = 80  # characters of a value in a message
_BRIEF = Repr()
_BRIEF.maxlevel, _BRIEF.maxstring, _BRIEF.maxlong = 2, 60, 40


def brief(value: Any) -> str:
    """Return a value as in Python code, shortened."""
    shown = _BRIEF.repr(value)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def refuse(name: str, rule: str, value: Any, remedy: str = "") -> NoReturn:
    """Raise ValueError for a value that breaks a rule; it states the rule, then the remedy."""
    ending = f"; {remedy}" if remedy else ""
    raise ValueError(f"{name} must be {rule}, got {brief(value)}{ending}".lstrip())


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_finite_number(value: Any) -> bool:
    """Return whether a value is a number of the range of float, and not a bool."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:  # an integer beyond all floating-point numbers
        return False


def check_number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    most: float = math.inf,
    is_finite: bool = True,
    remedy: str = "",
) -> None:
    """Check that a value is a number above 0, or from `least`, up to `most`.

    Raises
    ------
    ValueError
        If it is not.
    """
    is_open = is_finite and math.isinf(most)
    is_right = is_finite_number(value) if is_open else is_number(value)
    if is_right and (value > 0 if least is None else value >= least) and value <= most:
        return
    start = f"a {'finite ' * is_open}number "
    if least is None:
        rule = start + "above 0" + ("" if math.isinf(most) else f" and at most {most:g}")
    elif is_open:
        rule = f"{start}of at least {least:g}" if math.isfinite(least) else start.rstrip()
    else:
        rule = f"{start}from {least:g} to {'infinity' if math.isinf(most) else f'{most:g}'}"
    refuse(name, rule, value, remedy)


def check_integer(
    name: str, value: Any, least: int | None, most: int | None = None, *, remedy: str = ""
) -> None:
    """Check that a value is an integer from `least` to `most`.

    Raises
    ------
    ValueError
        If it is not.
    """
    is_right = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if is_right and (least is None or value >= least) and (most is None or value <= most):
        return
    limits = "" if least is None else f" of at least {least}"
    refuse(
        name, f"an integer{limits if most is None else f' from {least} to {most}'}", value, remedy
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
