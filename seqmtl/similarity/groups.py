"""Membership matrices of named groups of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import NameIndex, match_names
from seqmtl.exceptions import UnknownTaskError


def all_members(groups: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return the distinct members of all groups, in order of appearance."""
    return tuple(dict.fromkeys(str(name) for members in groups.values() for name in members))


def membership(groups: Mapping[str, Iterable[str]], names: Sequence[str]) -> NDArray[np.float64]:
    """Return r_cs, the weight of task s in group c or 0, shape (C, T).

    Parameters
    ----------
    groups : mapping of str to iterable of str
        Members of every group, or their weights by name; members that are not tasks are ignored.
    names : sequence of str
        Tasks, T of them, matched as :func:`seqmtl._names.match_names` does.

    Raises
    ------
    UnknownTaskError
        If a task is in no group, a member could be several tasks, or two members of a group
        are one task.
    ValueError
        If the members of a group are a single string.
    """
    index = NameIndex(names)
    R = np.zeros((len(groups), len(names)))
    for c, (label, members) in enumerate(groups.items()):
        if isinstance(members, str):
            raise ValueError(f"groups must have lists of members, got {members!r} for {label!r}")
        weights = members if isinstance(members, Mapping) else dict.fromkeys(members, 1.0)
        own = {str(name): weight for name, weight in weights.items() if index.find(str(name))}
        R[c, match_names(own, names, f"the tasks of the group {label!r}")] = list(own.values())
    if not R.any(axis=0).all():
        name = names[int(np.argmin(R.any(axis=0)))]
        hint = NameIndex(all_members(groups)).hint(name)
        raise UnknownTaskError(f"task {name!r} is not in any of the groups; {hint}")
    return R
