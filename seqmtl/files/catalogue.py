"""Trees, tables and models shipped with the package."""

from __future__ import annotations

import os
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from seqmtl.exceptions import ModelFileError, UsageError

#: How the names of shipped models begin, wherever a model file is expected.
STARTER = "starter:"


def names() -> tuple[str, ...]:
    """Return the names of the shipped trees, sorted."""
    return _stems("taxonomies", ".nwk")


def find(name: str) -> str | None:
    """Return the Newick text of a shipped tree, or None if there is none of this name."""
    return table(f"{name}.nwk") if name in names() else None


def table(file_name: str) -> str:
    """Return the text of a shipped file."""
    text: str = (_folder("taxonomies") / file_name).read_text(encoding="utf-8")
    return text


def model_path(path: str | os.PathLike[str]) -> str:
    """Return the file of a model: of a shipped one for ``starter:NAME``, else the path itself.

    Raises
    ------
    UsageError
        If no shipped model has this name.
    ModelFileError
        If the package is in an archive.
    """
    path = os.fspath(path)
    if not path.startswith(STARTER):
        return path
    name = path.removeprefix(STARTER)
    names = _stems("starter", ".seqmtl")
    if name not in names:
        shipped = ", ".join(f"{STARTER}{model}" for model in names)
        near = [f"; did you mean {STARTER}{model}?" for model in get_close_matches(name, names, 1)]
        raise UsageError(f"{path} is not a shipped model ({shipped}){''.join(near)}")
    file = str(_folder("starter") / f"{name}.seqmtl")
    if not os.path.exists(file):
        raise ModelFileError(
            f"is in an archive ({file}); unpack it, or pip install seqmtl", path=path
        )
    return file


def _stems(folder: str, suffix: str) -> tuple[str, ...]:
    """Return the names of the shipped files with a suffix, without it, sorted."""
    names = (entry.name for entry in _folder(folder).iterdir())
    return tuple(sorted(name.removesuffix(suffix) for name in names if name.endswith(suffix)))


def _folder(name: str) -> Any:
    """Return a data folder of the installed package, or of a source checkout."""
    installed = files("seqmtl") / name
    if installed.is_dir():
        return installed
    return Path(__file__).resolve().parents[2] / name
