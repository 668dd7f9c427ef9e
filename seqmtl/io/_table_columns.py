"""What the columns of a table of numbers are for, and how a bad cell is reported."""

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

_NAME_COLUMNS = ("name", "id")  # the first that is there holds the names of the rows
_SPLIT_COLUMN, _TASK_COLUMN = "split", "task"
_MOST_NAMES_SHOWN = 12


@dataclass(frozen=True)
class Wanted:
    """What the caller calls the columns that are no features; see ``read_numeric_table``."""

    label: str
    task: str
    sequence: str | None
    require_labels: bool
    features: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Places:
    """Where the rows of a table are in its file.

    Attributes
    ----------
    source : str
        Name of the file.
    lines : sequence of int, optional
        1-based line of each row. Without them rows are counted from 1.
    what : str
        What holds the values of one kind: a column or an array.
    """

    source: str
    lines: Sequence[int] | None = None
    what: str = "column"

    def refuse(self, row: int, rule: str, got: object, remedy: str) -> NoReturn:
        """Raise an error that names the line of a row, or its number where there are no lines."""
        line = None if self.lines is None else self.lines[row]
        place = f" in row {row + 1}" if line is None else ""
        raise InputFormatError(f"{rule}, got {got}{place}; {remedy}", path=self.source, line=line)

    def refuse_number(self, row: int, column: str, got: object) -> NoReturn:
        """Raise the error of a cell that is no finite number."""
        self.refuse(
            row,
            f"column {column!r} must hold finite numbers",
            got,
            "correct the cell, or leave the row or the column out",
        )


class Roles(NamedTuple):
    """The places of the columns by what they are for; None for those that are not there."""

    features: tuple[int, ...]
    feature_names: tuple[str, ...]
    label: int | None
    task: int | None
    sequence: int | None
    name: int | None
    split: int | None


class Cells(NamedTuple):
    """The values of a table as its reader found them.

    Attributes
    ----------
    examples : ndarray, shape (n, d) float64, or (n,) str
        The features, or the sequences.
    labels, tasks : ndarray, shape (n,), optional
        Numbers or names; an empty name is a missing one.
    names, splits : ndarray of str, shape (n,), optional
        Other columns that are kept.
    """

    examples: NDArray[Any]
    labels: NDArray[Any] | None
    tasks: NDArray[Any] | None
    names: NDArray[np.str_] | None
    splits: NDArray[np.str_] | None


class TableFile(ABC):
    """An open file of one format: the names of its columns, and then their values.

    Attributes
    ----------
    places : Places
        Where the rows are; their lines are known when they have been read.
    names : list of str
        Columns; a role is given by the place of one.
    header_line : int or None
        1-based line of the names.
    aliases : mapping of str to str
        What stands in for a column that is not there.
    rule, feature_rule : str
        How the message begins where a column or a feature is missing.
    """

    places: Places
    names: list[str]
    header_line: int | None = None
    aliases: Mapping[str | None, str] = {}
    rule = feature_rule = "the header must name the column"

    def features(self, taken: set[int | None]) -> dict[str, int]:
        """Return the names and places of all that may be a feature when some columns are taken."""
        return {name: i for i, name in enumerate(self.names) if i not in taken}

    @abstractmethod
    def is_number(self, column: int) -> bool:
        """Tell whether a column holds numbers."""

    @abstractmethod
    def read(self, roles: Roles) -> Cells:
        """Return the values of the columns that have a role."""


def find_roles(table: TableFile, wanted: Wanted) -> Roles:
    """Say what each column of a table is for.

    Raises
    ------
    InputFormatError
        If a wanted column is missing, a name is empty or comes twice, or there are no features.
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
    """Return the names and places of the features, or those of the sequences."""
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
            "say which column holds sequences",
            path=table.places.source,
            line=table.header_line,
        )
    left_out = [name for name in free if name not in chosen]
    if left_out:
        logger.info("%s: columns left out: %s", table.places.source, shown(left_out))
    return chosen


def refuse_missing(rule: str, name: str, names: Sequence[str], table: TableFile) -> NoReturn:
    """Raise the error of a name that is not there, with those that may have been meant."""
    lowered = {known.lower(): known for known in names}
    close = [repr(lowered[key]) for key in get_close_matches(name.lower(), lowered, n=3)]
    hint = f"did you mean {' or '.join(close)}?" if close else "add it, or say how it is named"
    raise InputFormatError(
        f"{rule} {name!r}, got {shown(names)}; {hint}",
        path=table.places.source,
        line=table.header_line,
    )


def shown(names: Sequence[str]) -> str:
    """Return names for a message; not more than a dozen."""
    text = ", ".join(map(repr, names[:_MOST_NAMES_SHOWN]))
    return text if len(names) <= _MOST_NAMES_SHOWN else f"{text}, ... ({len(names):,} in all)"


def check_distinct(names: Sequence[str], source: str, line: int | None = None) -> None:
    """Refuse names of columns that come twice."""
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
    """Tell whether another spelling of the task column would be taken for a feature."""
    return bool({name.lower() for name in table.names} & {_TASK_COLUMN, _TASK_COLUMN + "s"})
