"""Tab-separated tables of task kernels, and of distances, groups and graphs of organisms."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import read_text
from seqmtl.relations.distances import Distances

#: The columns of mash dist: two names, distance, p-value, shared hashes.
_MASH = (".+", ".+", r"[\d.e-]+", r"[\d.e-]+", r"\d+/\d+")


class Row(NamedTuple):
    """A line of a table, with its 1-based position in a file."""

    path: str
    line: int
    fields: list[str]

    def refuse(self, message: str) -> NoReturn:
        """Raise InputFormatError with this position."""
        raise InputFormatError(message, self.path, self.line)

    def number(self, text: str, what: str, least: float = 0.0) -> float:
        """Return a finite number from `least`; `what` names it in messages."""
        with suppress(ValueError):
            if math.isfinite(value := float(text)) and value >= least:
                return value
        rule = "a finite number from 0" if least == 0 else "a finite number"
        self.refuse(f"{what} must be {rule}, got {text!r}; correct or remove it")

    def weight(self) -> float:
        """Return the third field, or 1 without one."""
        return self.number([*self.fields, "1"][2], "weight")


def read_rows(path: str | os.PathLike[str], what: str) -> list[Row]:
    """Return the lines of a tab-separated file.

    Blank lines and lines that start with ``#`` are skipped; fields are stripped of blanks.

    Raises
    ------
    InputFormatError
        If the file cannot be read, or is not text.
    """
    lines = enumerate(read_text(path, what).splitlines(), 1)
    return [
        Row(os.fspath(path), number, [field.strip() for field in line.split("\t")])
        for number, line in lines
        if line.strip() and not line.startswith("#")
    ]


def parse_square(
    rows: Sequence[Row], what: str, least: float = 0.0
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names and numbers of a square table with a header row and column.

    `what` names the numbers, which are at least `least`, in messages.

    Raises
    ------
    InputFormatError
        If the table is not square, or the names of rows and columns differ.
    """
    names = rows[0].fields[1:]
    remedy = _other_layout(rows[0].fields)
    if remedy or len(rows) - 1 != len(names):
        raise InputFormatError(
            f"the table must be square, got {len(rows) - 1} rows and {len(names)} columns; "
            f"{remedy or 'give names in the first row and column'}",
            rows[0].path,
        )
    matrix = np.empty((len(names), len(names)))
    for i, (name, row) in enumerate(zip(names, rows[1:], strict=True)):
        first, *numbers = row.fields
        if first != name or len(numbers) != len(names):
            row.refuse(
                f"row must start with {name!r} and have {len(names)} numbers, got {first!r} "
                f"and {len(numbers)}; rows and columns must have the same order"
            )
        matrix[i] = [row.number(number, what, least) for number in numbers]
    return names, matrix


def _other_layout(first: Sequence[str]) -> str:
    """Return what to do with a table of another layout, by its first row, or "" if it is none."""
    if len(first) == 1 and "," in first[0]:
        return "put tabs between the fields, not commas"
    if first[-1].isdigit() and not any(first[:-1]):
        return "this looks like PHYLIP: write names in the first row, and tabs between the fields"
    if len(first) == len(_MASH) and all(map(re.fullmatch, _MASH, first)):
        return "this looks like mash dist: cut -f1-3 leaves the columns a, b, distance"
    return ""


def symmetric(
    names: Sequence[str], rows: Iterable[Row], number: Callable[[Row], float], what: str
) -> NDArray[np.float64]:
    """Return the numbers of pairs, in the first two fields, as a matrix, NaN where there is none.

    `what` names the numbers in messages.

    Raises
    ------
    InputFormatError
        If a pair has two numbers.
    """
    index = {name: i for i, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    for row in rows:
        one, other, value = *row.fields[:2], number(row)
        s, t = index[one], index[other]
        if not (np.isnan(matrix[s, t]) or matrix[s, t] == value):
            row.refuse(
                f"{what} must have one value per pair, got {value:g} for ({one}, {other}) after "
                f"{matrix[s, t]:g}; give one of them"
            )
        matrix[s, t] = matrix[t, s] = value
    return matrix


def drop_header(rows: list[Row]) -> list[Row]:
    """Remove a first row of two names and a word if no later row has these names."""
    first = rows[0].fields if rows else []
    if len(first) != 3 or not all(first) or _is_amount(first[2]):
        return rows
    later = {name for row in rows[1:] for name in row.fields[:2]}
    return rows if later & set(first) else rows[1:]


def _is_amount(text: str) -> bool:
    """Return whether a field is meant as a number, even if malformed."""
    return text.lower() in {"nan", "inf", "-inf"} or any(letter.isdigit() for letter in text)


_HEADING = "# kernel"


def write_tables(
    names: Sequence[str], matrices: NDArray[np.float64], labels: Sequence[str] | None
) -> str:
    """Return one table per matrix, each with a heading if there are labels."""
    lines = []
    for m, K in enumerate(matrices):
        if labels is not None:
            lines.append(f"{_HEADING}\t{labels[m]}")
        lines.append("\t".join(["", *names]))
        for name, row in zip(names, K.tolist(), strict=True):
            lines.append("\t".join([name, *map(repr, row)]))
    return "\n".join(lines) + "\n"


def read_tables(
    text: str, path: str
) -> tuple[list[str], NDArray[np.float64], tuple[str, ...] | None]:
    """Parse the output of :func:`write_tables`.

    Returns
    -------
    names, matrices, labels
        T names, ndarray of shape (M, T, T), and M labels or None if the table has no heading.

    Raises
    ------
    InputFormatError
        If a table is not square or not numeric, or the tables have different names.
    """
    labels: list[str] = []
    blocks: list[list[Row]] = [[]]
    for number, line in enumerate(text.split("\n"), 1):
        fields = [field.strip() for field in line.split("\t")]
        if fields[0] == _HEADING and len(fields) == 2:
            labels.append(fields[1])
            blocks.append([])
        elif line.strip():
            blocks[-1].append(Row(path, number, fields))
    if labels and blocks[0]:
        blocks[0][0].refuse(
            f"the first line must be '{_HEADING}' and a label if there are several tables"
        )
    blocks = blocks[1:] if labels else blocks
    if min(map(len, blocks)) < 2:
        raise InputFormatError("is not a table of similarities with named rows", path)
    tables = [parse_square(block, "similarity", -math.inf) for block in blocks]
    names = tables[0][0]
    for label, (other_names, _) in zip(labels, tables, strict=False):
        if other_names != names:
            raise InputFormatError(
                f"all tables must have the same tasks in the same order, but those of {label!r} "
                f"differ from those of {labels[0]!r}",
                path,
            )
    return names, np.array([rows for _, rows in tables]), tuple(labels) or None


def read_distances(path: str | os.PathLike[str]) -> Distances:
    """Read distances from a square table or a list of pairs.

    A square table has the names in its first row and first column, in the same order. A list has
    one pair per line, ``a<TAB>b<TAB>distance``, in either order, and optionally a header of three
    names that do not occur again; the diagonal may be omitted.

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
        raise InputFormatError("is not a table of distances: it has no rows", path)
    names, matrix = _pairs(rows) if is_list else parse_square(rows, "distance")
    try:
        return Distances(tuple(names), matrix, os.path.basename(path))
    except ValueError as error:
        raise InputFormatError(str(error), path=path) from error


def read_graph(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Read a weighted graph of related tasks.

    A line is an edge, ``a<TAB>b`` or ``a<TAB>b<TAB>weight``, or a single name, a task without
    edges. The default weight is 1. Edges are undirected. An edge may be given in both directions
    with the same weight.

    Parameters
    ----------
    path : str or path-like
        TSV file, plain or gzip. Lines that start with ``#`` are comments, and a first line of three
        names that do not occur again is a header.

    Returns
    -------
    names : tuple of str
        Tasks, in the order of the file.
    adjacency : ndarray, shape (T, T)
        A, symmetric, zero on the diagonal.

    Raises
    ------
    InputFormatError
        If the file is not a graph, a weight is negative or not finite, a task has an edge to
        itself, or two directions differ; the message gives file and line.
    """
    rows = read_rows(path, "a graph")
    names: dict[str, None] = {}
    edges = []
    for row in drop_header(rows):
        fields = row.fields
        if not all(fields) or len(fields) > 3:
            row.refuse(
                "a line must be a, b and optionally a weight, or a single task, got "
                f"{len(fields)} fields of which {fields.count('')} are empty; put one tab between"
            )
        names.update(dict.fromkeys(fields[:2]))
        if len(fields) == 1:
            continue
        if fields[0] == fields[1]:
            row.refuse(f"an edge must join two tasks, got {fields[0]!r} with itself; drop it")
        edges.append(row)
    if names and not edges and all(" " in name for name in names):
        rows[0].refuse(
            f"an edge must have tabs between a, b and weight, got {rows[0].fields[0]!r}; put some"
        )
    if not names:
        raise InputFormatError("a graph must have at least one task, got none", os.fspath(path))
    return tuple(names), np.nan_to_num(symmetric([*names], edges, Row.weight, "edges"), nan=0.0)


def read_groups(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Read which organisms belong to which groups.

    Every line is ``organism<TAB>group`` or ``organism<TAB>group<TAB>weight``. An organism may be
    in several groups. A group may be in others, like the terms of an ontology: its organisms are
    then members of these, too, with the product of the weights, the largest over all paths. A first
    line ``organism<TAB>group`` is a header.

    Parameters
    ----------
    path : str or path-like
        TSV file, plain or gzip. Lines that start with ``#`` are comments.

    Returns
    -------
    dict of str to dict of str to float
        Organisms of every group with their weights (default 1), groups in the order of the file.

    Raises
    ------
    InputFormatError
        If a line has no group, a membership is repeated, a weight is not a positive number, or a
        group is in itself; the message gives file and line, or the groups.
    """
    groups: dict[str, dict[str, float]] = {}
    path = os.fspath(path)
    for i, row in enumerate(read_rows(path, "a table of groups")):
        fields = row.fields
        if i == 0 and [field.lower() for field in fields[:2]] == ["organism", "group"]:
            continue
        if len(fields) not in (2, 3) or not fields[0] or not fields[1]:
            row.refuse(
                f"a line must be organism, group and optionally a weight, got {len(fields)} "
                "fields; put tabs between them"
            )
        organism, group = fields[:2]
        if organism in groups.setdefault(group, {}):
            row.refuse(f"{organism!r} is in the group {group!r} twice; remove one line")
        weight = row.weight()
        if not weight:
            row.refuse("weight must be positive, got 0; remove the line for no membership")
        groups[group][organism] = weight
    if not groups:
        raise InputFormatError("is not a table of groups: it has no rows", path)
    try:
        return _expanded(groups)
    except CycleError as error:
        around = " in ".join(error.args[1][::-1])
        message = f"no group may be in itself, got {around}; remove a line"
        raise InputFormatError(message, path) from error


def _expanded(groups: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the groups with every inner group replaced by its members.

    Raises
    ------
    CycleError
        If a group is in itself.
    """
    inner = {
        label: [name for name in members if name in groups] for label, members in groups.items()
    }
    expanded: dict[str, dict[str, float]] = {}
    for label in TopologicalSorter(inner).static_order():
        members = expanded[label] = {}
        for name, weight in groups[label].items():
            for member, inner_weight in expanded.get(name, {name: 1.0}).items():
                members[member] = max(members.get(member, 0.0), weight * inner_weight)
    return {label: expanded[label] for label in groups}


def _is_list(rows: Sequence[Row]) -> bool:
    """Distinguish three columns of pairs from a square table of two organisms."""
    header = rows[0].fields if rows else []
    square = len(rows) == 3 and sorted(header[1:]) == sorted(row.fields[0] for row in rows[1:])
    return len(header) == 3 and not square


def _pairs(rows: Sequence[Row]) -> tuple[list[str], NDArray[np.float64]]:
    for row in rows:
        if len(row.fields) != 3 or not row.fields[0] or not row.fields[1]:
            row.refuse(
                f"a line must be a, b, distance, got {len(row.fields)} fields; put tabs between "
                "them"
            )
    names = list(dict.fromkeys(name for row in rows for name in row.fields[:2]))
    matrix = symmetric(names, rows, lambda row: row.number(row.fields[2], "distance"), "distances")
    diagonal = np.diagonal(matrix)
    np.fill_diagonal(matrix, np.where(np.isnan(diagonal), 0.0, diagonal))
    if np.isnan(matrix).any():
        s, t = np.argwhere(np.isnan(matrix))[0]
        raise InputFormatError(
            f"every pair must have a distance, got none for ({names[s]}, {names[t]}) and "
            f"{np.isnan(matrix).sum() // 2 - 1} others; add the lines",
            rows[0].path,
        )
    return names, matrix
