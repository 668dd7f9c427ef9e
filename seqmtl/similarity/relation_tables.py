"""Tab-separated tables of distances between organisms and of groups of organisms."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.similarity._small_tables import drop_header, parse_amount, parse_square, read_rows
from seqmtl.similarity.distances import Distances

Row = tuple[int, list[str]]


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
    path = os.fspath(path)
    rows = read_rows(path, "a table of distances")
    is_list = _is_list(rows)
    rows = drop_header(rows) if is_list else rows
    if not rows:
        raise InputFormatError("is not a table of distances: it has no rows", path=path)

    def number(field: str, line: int) -> float:
        return parse_amount(field, "distance", path=path, line=line)

    names, matrix = _pairs(rows, path) if is_list else parse_square(rows, "distances", number, path)
    try:
        return Distances(tuple(names), matrix, os.path.basename(path))
    except ValueError as error:
        raise InputFormatError(str(error), path=path) from error


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
    path = os.fspath(path)
    groups: dict[str, dict[str, float]] = {}
    for i, (line, fields) in enumerate(read_rows(path, "a table of groups")):
        if i == 0 and [field.lower() for field in fields[:2]] == ["organism", "group"]:
            continue
        if len(fields) not in (2, 3) or not fields[0] or not fields[1]:
            raise InputFormatError(
                f"a line must be organism, group and optionally a weight, got {len(fields)} "
                "fields; put tabs between them",
                path=path,
                line=line,
            )
        organism, group = fields[:2]
        if organism in groups.setdefault(group, {}):
            raise InputFormatError(
                f"{organism!r} is in the group {group!r} twice; remove one line",
                path=path,
                line=line,
            )
        weight = (
            parse_amount(fields[2], "weight", path=path, line=line) if len(fields) == 3 else 1.0
        )
        if not weight:
            raise InputFormatError(
                "weight must be positive, got 0; remove the line for no membership",
                path=path,
                line=line,
            )
        groups[group][organism] = weight
    if not groups:
        raise InputFormatError("is not a table of groups: it has no rows", path=path)
    return groups


def _is_list(rows: Sequence[Row]) -> bool:
    """Distinguish three columns of pairs from a square table of two organisms."""
    header = rows[0][1] if rows else []
    square = len(rows) == 3 and sorted(header[1:]) == sorted(fields[0] for _, fields in rows[1:])
    return len(header) == 3 and not square


def _pairs(rows: Sequence[Row], path: str) -> tuple[list[str], NDArray[np.float64]]:
    number: dict[str, int] = {}
    given: dict[tuple[int, int], float] = {}
    for line, fields in rows:
        if len(fields) != 3 or not fields[0] or not fields[1]:
            raise InputFormatError(
                f"a line must be a, b, distance, got {len(fields)} fields; put tabs between them",
                path=path,
                line=line,
            )
        value = parse_amount(fields[2], "distance", path=path, line=line)
        s, t = sorted(number.setdefault(name, len(number)) for name in fields[:2])
        if given.setdefault((s, t), value) != value:
            raise InputFormatError(
                f"distances must be symmetric, got {value:g} for ({fields[0]}, {fields[1]}) "
                f"after {given[s, t]:g}; give one value per pair",
                path=path,
                line=line,
            )
    names = list(number)
    matrix = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(matrix, 0.0)
    for (s, t), value in given.items():
        matrix[s, t] = matrix[t, s] = value
    if np.isnan(matrix).any():
        s, t = np.argwhere(np.isnan(matrix))[0]
        raise InputFormatError(
            f"every pair must have a distance, got none for ({names[s]}, {names[t]}) and "
            f"{np.isnan(matrix).sum() // 2 - 1} others; add the lines",
            path=path,
        )
    return names, matrix
