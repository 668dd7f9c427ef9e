"""Tab-separated tables of distances between organisms and of groups of organisms."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import NameIndex, match_names
from seqmtl.exceptions import InputFormatError, UnknownTaskError
from seqmtl.similarity._small_tables import (
    Pair,
    Place,
    Row,
    drop_header,
    parse_square,
    read_rows,
    symmetric,
)
from seqmtl.similarity.distances import Distances


def read_distances(path: str | os.PathLike[str]) -> Distances:
    """Read distances from a square table or a list of pairs.

    A square table has the names in its first row and first column, in the same order. A list has
    one pair per line, ``a<TAB>b<TAB>distance``, in either order, and optionally a header of three
    words that do not occur again; the diagonal may be omitted.

    Parameters
    ----------
    path : str or path-like
        TSV file, plain or gzip. Lines that start with ``#`` are comments.

    Raises
    ------
    InputFormatError
        If the table has neither form, or values are not distances, are contradictory or are
        missing; the message gives file and line.
    """
    whole = Place(os.fspath(path))
    rows = read_rows(path, "a table of distances")
    is_list = _is_list(rows)
    rows = drop_header(rows) if is_list else rows
    if not rows:
        whole.refuse("is not a table of distances: it has no rows")

    def number(place: Place, text: str) -> float:
        return place.amount(text, "distance")

    names, matrix = _pairs(rows, whole) if is_list else parse_square(rows, "distances", number)
    try:
        return Distances(tuple(names), matrix, os.path.basename(whole.path))
    except ValueError as error:
        raise InputFormatError(str(error), path=whole.path) from error


def read_groups(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Read which organisms belong to which groups.

    Every line is ``organism<TAB>group`` or ``organism<TAB>group<TAB>weight``. An organism may be
    in several groups. A first line ``organism<TAB>group`` is a header.

    Parameters
    ----------
    path : str or path-like
        TSV file, plain or gzip. Lines that start with ``#`` are comments.

    Returns
    -------
    dict of str to dict of str to float
        Members of every group with their weights (default 1), in the order of the file.

    Raises
    ------
    InputFormatError
        If a line has no group, a membership is repeated, or a weight is not a positive number;
        the message gives file and line.
    """
    groups: dict[str, dict[str, float]] = {}
    for i, (place, fields) in enumerate(read_rows(path, "a table of groups")):
        if i == 0 and [field.lower() for field in fields[:2]] == ["organism", "group"]:
            continue
        if len(fields) not in (2, 3) or not fields[0] or not fields[1]:
            place.refuse(
                f"a line must be organism, group and optionally a weight, got {len(fields)} "
                "fields; put tabs between them"
            )
        organism, group = fields[:2]
        if organism in groups.setdefault(group, {}):
            place.refuse(f"{organism!r} is in the group {group!r} twice; remove one line")
        weight = place.amount([*fields, "1"][2], "weight")
        if not weight:
            place.refuse("weight must be positive, got 0; remove the line for no membership")
        groups[group][organism] = weight
    if not groups:
        Place(os.fspath(path)).refuse("is not a table of groups: it has no rows")
    return groups


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


def _is_list(rows: Sequence[Row]) -> bool:
    """Distinguish three columns of pairs from a square table of two organisms."""
    header = rows[0].fields if rows else []
    square = len(rows) == 3 and sorted(header[1:]) == sorted(fields[0] for _, fields in rows[1:])
    return len(header) == 3 and not square


def _pairs(rows: Sequence[Row], whole: Place) -> tuple[list[str], NDArray[np.float64]]:
    pairs = []
    for place, fields in rows:
        if len(fields) != 3 or not fields[0] or not fields[1]:
            place.refuse(
                f"a line must be a, b, distance, got {len(fields)} fields; put tabs between them"
            )
        pairs.append(Pair(fields[0], fields[1], place.amount(fields[2], "distance"), place))
    names = list(dict.fromkeys(name for pair in pairs for name in pair[:2]))
    matrix = symmetric(names, pairs, "distances")
    own = np.diagonal(matrix)
    np.fill_diagonal(matrix, np.where(np.isnan(own), 0.0, own))
    if np.isnan(matrix).any():
        s, t = np.argwhere(np.isnan(matrix))[0]
        whole.refuse(
            f"every pair must have a distance, got none for ({names[s]}, {names[t]}) and "
            f"{np.isnan(matrix).sum() // 2 - 1} others; add the lines"
        )
    return names, matrix
