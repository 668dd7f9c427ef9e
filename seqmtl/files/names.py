"""Derive file names from names given by users."""

from __future__ import annotations

import re
from collections.abc import Iterable


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Map every name to a unique part of a file name: letters, digits, dots, hyphens, underscores.

    The parts differ even if case is ignored; none starts with a dot or a hyphen.
    """
    file_names: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name.strip()).lstrip(".-") or "task"
        choice = plain
        number = 2
        while choice.lower() in taken:
            choice = f"{plain}_{number}"
            number = number + 1
        taken.add(choice.lower())
        file_names[name] = choice
    return file_names
