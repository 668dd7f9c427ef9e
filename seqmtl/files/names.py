"""Names of files from names that users gave."""

from __future__ import annotations

import re
from collections.abc import Iterable


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Return a part of a file name for every name: letters, digits, dots, hyphens, underscores.

    All differ, also where only the case would; none is hidden or reads like an option.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name.strip()).lstrip(".-") or "task"
        choice, number = plain, 2
        while choice.lower() in taken:
            choice, number = f"{plain}_{number}", number + 1
        taken.add(choice.lower())
        found[name] = choice
    return found
