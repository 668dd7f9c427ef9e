"""Check arguments: numbers, integers, one of several choices."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import Any


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number, and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


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
        If it is not; the message states the rule and, after a semicolon, the remedy.
    """
    is_finite = is_finite and math.isinf(most)
    if (
        not is_number(value)
        or not (value > 0 if least is None else value >= least)
        or value > most
        or (is_finite and not math.isfinite(value))
    ):
        start = f"a {'finite ' * is_finite}number "
        if least is None:
            rule = start + "above 0" + ("" if math.isinf(most) else f" and at most {most:g}")
        elif is_finite:
            rule = f"{start}of at least {least:g}"
        else:
            rule = f"{start}from {least:g} to {'infinity' if math.isinf(most) else f'{most:g}'}"
        raise ValueError(f"{name} must be {rule}, got {value!r}" + f"; {remedy}" * bool(remedy))


def check_integer(
    name: str, value: Any, least: int, most: int | None = None, *, remedy: str = ""
) -> None:
    """Check that a value is an integer from `least` to `most`.

    Raises
    ------
    ValueError
        If it is not; the message states the rule and, after a semicolon, the remedy.
    """
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(
            f"{name} must be an integer {limits}, got {value!r}" + f"; {remedy}" * bool(remedy)
        )


def check_fraction(name: str, value: float) -> None:
    """Check that a value is between 0 and 1.

    Raises
    ------
    ValueError
        If it is not.
    """
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value}")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Check that a value is one of the choices.

    Raises
    ------
    ValueError
        If it is not; the message names the choices and the nearest match.
    """
    choices = tuple(choices)
    if value not in choices:
        near = difflib.get_close_matches(str(value), choices, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}{hint}")
