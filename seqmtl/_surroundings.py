"""What a process has set for NumPy, and whether figures can be drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def usual_floats(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function compute with NumPy's default handling of underflow, overflow and such."""

    @wraps(function)
    def call(*args: Parameters.args, **named: Parameters.kwargs) -> Result:
        import numpy as np

        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            return function(*args, **named)

    return call


def has_matplotlib() -> bool:
    """Return whether figures can be drawn."""
    return find_spec("matplotlib") is not None
