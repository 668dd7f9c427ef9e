"""What a process has set for NumPy, matplotlib and its environment, and what stays as it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def read_system_file(path: str) -> bytes:
    """Return the bytes of a file in which Linux describes the machine or the process.

    Raises
    ------
    OSError
        If there is none.
    """
    return Path(path).read_bytes()


@contextmanager
def unchanged_environment() -> Iterator[None]:
    """Undo changes of environment variables, such as those by imports of other packages."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in {*os.environ} - {*before}:
            del os.environ[name]
        for name, value in before.items():
            if os.environ.get(name) != value:
                os.environ[name] = value


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
    try:
        import_matplotlib()
    except ImportError:
        return False
    return True


def import_matplotlib() -> None:
    """Import matplotlib, with any ``MPLBACKEND``: figures are drawn on canvases of their own.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    if sys.modules.get("matplotlib"):
        return
    with unchanged_environment():
        backend = os.environ.pop("MPLBACKEND", None)
        import matplotlib
    if backend is not None:  # as matplotlib does, which ends with an error if it is unknown
        with suppress(ValueError):
            matplotlib.rcParams["backend"] = backend
