"""Tab-separated tables of task kernels, of distances between organisms and of their groups."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import read_text
from seqmtl.relations.distances import Distances

#: The columns of mash dist: two names, distance, p-value, shared hashes.
_MASH = (".+", ".+", r"[\d.e-]+", r"[\d.e-]+", r"\d+/\d+")


class FilePosition(NamedTuple):
    """A position in a file: the 1-based line, or the file as a whole."""

    path: str
    line: int | None = None

    def refuse(self, message: str) -> NoReturn:
        """Raise InputFormatError with this position."""
        raise InputFormatError(message, *self)

    def amount(self, text: str, what: str) -> float:
        """Return a finite, non-negative number; `what` names it in messages."""
        value = self.number(text)
        if not (value is not None and math.isfinite(value) and value >= 0):
            self.refuse(
                f"{what} must be a finite number from 0, got {text!r}; correct or remove it"
            )
        return value

    def number(self, text: str) -> float | None:
        """Return any number, or None if the text is none."""
        try:
            return float(text)
        except ValueError:
            return None


class Row(NamedTuple):
    """A line of a table."""

    position: FilePosition
    fields: list[str]


class Pair(NamedTuple):
    """A number for two names, and its position in the file."""

    one: str
    other: str
    value: float
    position: FilePosition


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
        Row(FilePosition(os.fspath(path), number), [field.strip() for field in line.split("\t")])
        for number, line in lines
        if line.strip() and not line.startswith("#")
    ]


def parse_square(
    rows: Sequence[Row], what: str, parse: Callable[[FilePosition, str], float]
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names and numbers of a square table with a header row and column.

    `what` names the numbers in messages; `parse` converts a field, given its position.

    Raises
    ------
    InputFormatError
        If the table is not square, or the names of rows and columns differ.
    """
    names = rows[0].fields[1:]
    remedy = _other_layout(rows[0].fields)
    if remedy or len(rows) - 1 != len(names):
        rows[0].position._replace(line=None).refuse(
            f"{what} must be square, got {len(rows) - 1} rows and {len(names)} columns; "
            f"{remedy or 'give names in the first row and column'}"
        )
    matrix = np.empty((len(names), len(names)))
    for i, (name, (position, fields)) in enumerate(zip(names, rows[1:], strict=True)):
        if fields[0] != name or len(fields) != len(names) + 1:
            position.refuse(
                f"row must start with {name!r} and have {len(names)} numbers, got {fields[0]!r} "
                f"and {len(fields) - 1}; rows and columns must have the same order"
            )
        matrix[i] = [parse(position, field) for field in fields[1:]]
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


def symmetric(names: Sequence[str], pairs: Iterable[Pair], what: str) -> NDArray[np.float64]:
    """Return the numbers of pairs as a matrix, NaN where there is none.

    `what` names the numbers in messages.

    Raises
    ------
    InputFormatError
        If a pair has two numbers.
    """
    number = {name: i for i, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    for pair in pairs:
        s, t = number[pair.one], number[pair.other]
        if not (np.isnan(matrix[s, t]) or matrix[s, t] == pair.value):
            pair.position.refuse(
                f"{what} must have one value per pair, got {pair.value:g} for ({pair.one}, "
                f"{pair.other}) after {matrix[s, t]:g}; give one of them"
            )
        matrix[s, t] = matrix[t, s] = pair.value
    return matrix


def drop_header(rows: list[Row]) -> list[Row]:
    """Remove a first row of two names and a word if no later row has these names."""
    first = rows[0].fields if rows else []
    if len(first) != 3 or not all(first) or _is_amount(first[2]):
        return rows
    later = {name for _, fields in rows[1:] for name in fields[:2]}
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
            blocks[-1].append(Row(FilePosition(path, number), fields))
    if labels and blocks[0]:
        blocks[0][0].position.refuse(
            f"the first line must be '{_HEADING}' and a label if there are several tables"
        )
    tables = [_read_table(block, path) for block in (blocks[1:] if labels else blocks)]
    names = tables[0][0]
    for label, (other_names, _) in zip(labels, tables, strict=False):
        if other_names != names:
            FilePosition(path).refuse(
                f"all tables must have the same tasks in the same order, but those of {label!r} "
                f"differ from those of {labels[0]!r}"
            )
    return names, np.array([rows for _, rows in tables]), tuple(labels) or None


def _read_table(table: Sequence[Row], path: str) -> tuple[list[str], NDArray[np.float64]]:
    if len(table) < 2:
        FilePosition(path).refuse("is not a table of similarities with named rows")

    def number(position: FilePosition, text: str) -> float:
        value = position.number(text)
        if value is None:
            position.refuse(f"not a number: {text!r}")
        return value

    return parse_square(table, "similarity", number)


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
    file = FilePosition(os.fspath(path))
    rows = read_rows(path, "a table of distances")
    is_list = _is_list(rows)
    rows = drop_header(rows) if is_list else rows
    if not rows:
        file.refuse("is not a table of distances: it has no rows")

    def number(position: FilePosition, text: str) -> float:
        return position.amount(text, "distance")

    names, matrix = _pairs(rows, file) if is_list else parse_square(rows, "distances", number)
    try:
        return Distances(tuple(names), matrix, os.path.basename(file.path))
    except ValueError as error:
        raise InputFormatError(str(error), path=file.path) from error


def read_groups(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Read which organisms belong to which groups.

    Every line is ``organism<TAB>group`` or ``organism<TAB>group<TAB>weight``. An organism may be
    in several groups. A group may be in others, like the terms of an ontology: its organisms are
    then members of these, too, with the product of the weights, the largest over all paths. A first
    line
    ``organism<TAB>group`` is a header.

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
    for i, (position, fields) in enumerate(read_rows(path, "a table of groups")):
        if i == 0 and [field.lower() for field in fields[:2]] == ["organism", "group"]:
            continue
        if len(fields) not in (2, 3) or not fields[0] or not fields[1]:
            position.refuse(
                f"a line must be organism, group and optionally a weight, got {len(fields)} "
                "fields; put tabs between them"
            )
        organism, group = fields[:2]
        if organism in groups.setdefault(group, {}):
            position.refuse(f"{organism!r} is in the group {group!r} twice; remove one line")
        weight = position.amount([*fields, "1"][2], "weight")
        if not weight:
            position.refuse("weight must be positive, got 0; remove the line for no membership")
        groups[group][organism] = weight
    if not groups:
        FilePosition(os.fspath(path)).refuse("is not a table of groups: it has no rows")
    try:
        return _expanded(groups)
    except CycleError as error:
        around = " in ".join(error.args[1][::-1])
        FilePosition(os.fspath(path)).refuse(
            f"no group may be in itself, got {around}; remove a line"
        )


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
    square = len(rows) == 3 and sorted(header[1:]) == sorted(fields[0] for _, fields in rows[1:])
    return len(header) == 3 and not square


def _pairs(rows: Sequence[Row], file: FilePosition) -> tuple[list[str], NDArray[np.float64]]:
    pairs = []
    for position, fields in rows:
        if len(fields) != 3 or not fields[0] or not fields[1]:
            position.refuse(
                f"a line must be a, b, distance, got {len(fields)} fields; put tabs between them"
            )
        pairs.append(Pair(fields[0], fields[1], position.amount(fields[2], "distance"), position))
    names = list(dict.fromkeys(name for pair in pairs for name in pair[:2]))
    matrix = symmetric(names, pairs, "distances")
    diagonal = np.diagonal(matrix)
    np.fill_diagonal(matrix, np.where(np.isnan(diagonal), 0.0, diagonal))
    if np.isnan(matrix).any():
        s, t = np.argwhere(np.isnan(matrix))[0]
        file.refuse(
            f"every pair must have a distance, got none for ({names[s]}, {names[t]}) and "
            f"{np.isnan(matrix).sum() // 2 - 1} others; add the lines"
        )
    return names, matrix
