"""Assign roles to the columns of a numeric table, and report bad cells."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError

logger = logging.getLogger(__name__)

_NAME_COLUMNS = ("name", "id")  # the first one present holds the names of the rows
_SPLIT_COLUMN, _TASK_COLUMN = "split", "task"
_MOST_NAMES_SHOWN = 12


@dataclass(frozen=True)
class Wanted:
    """The caller's names for the columns that are not features; see ``read_numeric_table``."""

    label: str
    task: str
    sequence: str | None
    require_labels: bool
    features: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Places:
    """The locations of the rows of a table in its file.

    Attributes
    ----------
    source : str
        Name of the file.
    lines : sequence of int, optional
        1-based line of each row. Without lines, rows are counted from 1.
    what : str
        What holds values of one kind: "column" or "array".
    """

    source: str
    lines: Sequence[int] | None = None
    what: str = "column"

    def refuse(self, row: int, rule: str, got: object, remedy: str) -> NoReturn:
        """Raise an error that gives the line of a row, or its number if there are no lines."""
        line = None if self.lines is None else self.lines[row]
        place = f" in row {row + 1}" if line is None else ""
        raise InputFormatError(f"{rule}, got {got}{place}; {remedy}", path=self.source, line=line)

    def refuse_number(self, row: int, column: str, got: object) -> NoReturn:
        """Raise the error for a cell that is not a finite number."""
        self.refuse(
            row,
            f"column {column!r} must hold finite numbers",
            got,
            "correct the cell, or leave the row or the column out",
        )


class Roles(NamedTuple):
    """Indices of the columns by role; None for missing ones."""

    features: tuple[int, ...]
    feature_names: tuple[str, ...]
    label: int | None
    task: int | None
    sequence: int | None
    name: int | None
    split: int | None


class Cells(NamedTuple):
    """The values of a table as read.

    Attributes
    ----------
    examples : ndarray, shape (n, d) float64, or (n,) str
        Features or sequences.
    labels, tasks : ndarray, shape (n,), optional
        Numbers or names; an empty name is a missing value.
    names, splits : ndarray of str, shape (n,), optional
        Other columns to keep.
    """

    examples: NDArray[Any]
    labels: NDArray[Any] | None
    tasks: NDArray[Any] | None
    names: NDArray[np.str_] | None
    splits: NDArray[np.str_] | None


class TableFile(ABC):
    """An open file of one format: its column names, then their values.

    Attributes
    ----------
    places : Places
        Locations of the rows; their lines are known after reading.
    names : list of str
        Names of the columns; roles refer to their indices.
    header_line : int or None
        1-based line of the names.
    aliases : mapping of str to str
        Fallback names for missing columns.
    rule, feature_rule : str
        First words of the message about a missing column or feature.
    """

    places: Places
    names: list[str]
    header_line: int | None = None
    aliases: Mapping[str | None, str] = {}
    rule = feature_rule = "the header must name the column"

    def features(self, taken: set[int | None]) -> dict[str, int]:
        """Return names and indices of the candidate features, given the columns taken."""
        return {name: i for i, name in enumerate(self.names) if i not in taken}

    @abstractmethod
    def is_number(self, column: int) -> bool:
        """Tell whether a column holds numbers."""

    @abstractmethod
    def read(self, roles: Roles) -> Cells:
        """Return the values of the columns with a role."""


def find_roles(table: TableFile, wanted: Wanted) -> Roles:
    """Assign a role to each column of a table.

    Raises
    ------
    InputFormatError
        If a required column is missing, a name is empty or repeated, or there are no features.
    """
    _check_names(table)
    place: dict[str | None, int] = {name: i for i, name in enumerate(table.names)}

    def find(name: str | None) -> int | None:
        return place.get(name, place.get(table.aliases.get(name)))

    required = [wanted.label] if wanted.require_labels else []
    if wanted.task != _TASK_COLUMN or (wanted.features is None and _has_near_task(table)):
        required.append(wanted.task)
    required += [] if wanted.sequence is None else [wanted.sequence]
    for name in required:
        if find(name) is None:
            refuse_missing(table.rule, table.aliases.get(name, name), table.names, table)
    label, task, sequence = map(find, (wanted.label, wanted.task, wanted.sequence))
    asked_for = {label, task, sequence, *map(find, wanted.features or ())} - {None}
    row_names = [i for i in map(find, _NAME_COLUMNS) if i is not None and i not in asked_for]
    split = find(_SPLIT_COLUMN)
    takes_all = wanted.features is None and sequence is None
    if split in asked_for or (split is not None and takes_all and table.is_number(split)):
        split = None
    features = _choose_features(table, wanted, {label, task, sequence, split, *row_names})
    return Roles(
        features=tuple(features.values()) if sequence is None else (),
        feature_names=tuple(features),
        label=label,
        task=task,
        sequence=sequence,
        name=row_names[0] if row_names else None,
        split=split,
    )


def _choose_features(table: TableFile, wanted: Wanted, taken: set[int | None]) -> dict[str, int]:
    """Return names and indices of the features, or of the sequences."""
    if wanted.sequence is not None:
        free = [name for i, name in enumerate(table.names) if i not in taken]
        chosen = {wanted.sequence: table.names.index(wanted.sequence)}
    elif wanted.features is None:
        chosen = table.features(taken)
        free = []
    else:
        known = table.features(set())
        for name in wanted.features:
            if name not in known:
                refuse_missing(table.feature_rule, name, list(known), table)
        free = list(table.features(taken))
        chosen = {name: known[name] for name in wanted.features}
    if not chosen:
        raise InputFormatError(
            f"the table must have a column of features, got only {shown(table.names)}; add one, or "
            "name the column that holds sequences",
            path=table.places.source,
            line=table.header_line,
        )
    left_out = [name for name in free if name not in chosen]
    if left_out:
        logger.info("%s: columns left out: %s", table.places.source, shown(left_out))
    return chosen


def refuse_missing(rule: str, name: str, names: Sequence[str], table: TableFile) -> NoReturn:
    """Raise the error for a missing name, with near matches."""
    lowered = {known.lower(): known for known in names}
    close = [repr(lowered[key]) for key in get_close_matches(name.lower(), lowered, n=3)]
    hint = f"did you mean {' or '.join(close)}?" if close else "add it, or give its actual name"
    raise InputFormatError(
        f"{rule} {name!r}, got {shown(names)}; {hint}",
        path=table.places.source,
        line=table.header_line,
    )


def shown(names: Sequence[str]) -> str:
    """Format names for a message, at most a dozen."""
    text = ", ".join(map(repr, names[:_MOST_NAMES_SHOWN]))
    return text if len(names) <= _MOST_NAMES_SHOWN else f"{text}, ... ({len(names):,} in all)"


def check_distinct(names: Sequence[str], source: str, line: int | None = None) -> None:
    """Reject repeated column names."""
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InputFormatError(
            f"the header must name a column once, got {name!r} again; rename one",
            path=source,
            line=line,
        )


def _check_names(table: TableFile) -> None:
    source, line = table.places.source, table.header_line
    if "" in table.names:
        raise InputFormatError(
            "the header must name every column, got no name for column "
            f"{table.names.index('') + 1}; name it 'name' if it holds the names or numbers of the "
            "rows",
            path=source,
            line=line,
        )
    check_distinct(table.names, source, line)


def _has_near_task(table: TableFile) -> bool:
    """Tell whether a feature is another spelling of the missing task column."""
    return bool({name.lower() for name in table.names} & {_TASK_COLUMN, _TASK_COLUMN + "s"})
