"""Trees and tables shipped with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any


def names() -> tuple[str, ...]:
    """Return the names of the shipped trees, sorted."""
    entries = (entry.name for entry in _folder().iterdir()) if _folder().is_dir() else ()
    return tuple(sorted(name[:-4] for name in entries if name.endswith(".nwk")))


def find(name: str) -> str | None:
    """Return the Newick text of a shipped tree, or None if there is none of this name."""
    return table(f"{name}.nwk") if name in names() else None


def table(file_name: str) -> str | None:
    """Return the text of a shipped file, or None if there is none of this name."""
    entry = _folder() / file_name
    return entry.read_text(encoding="utf-8") if entry.is_file() else None


def _folder() -> Any:
    """Return the data folder of the installed package, or of a source checkout."""
    installed = files("seqmtl") / "taxonomies"
    if installed.is_dir():
        return installed
    return Path(__file__).resolve().parents[2] / "taxonomies"
