"""What the columns of a table of numbers are for, and how a bad cell is reported."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError

logger = logging.getLogger(__name__)

#: Columns that hold the names of the rows; the first that is there counts.
NAME_COLUMNS = ("name", "id")
SPLIT_COLUMN = "split"
TASK_COLUMN = "task"
LABEL_COLUMN = "label"
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


@dataclass(frozen=True)
class Columns:
    """A table as its reader found it; the values are checked afterwards.

    Attributes
    ----------
    places : Places
        Where the rows are.
    examples : ndarray, shape (n, d) float64, or (n,) str
        The features, or the sequences.
    feature_names : tuple of str
        Names of the d features, or that of the column of sequences.
    labels, tasks : ndarray, shape (n,), optional
        Numbers or names; an empty name is a missing one.
    label_name, task_name : str
        Their columns.
    names, splits : ndarray of str, shape (n,), optional
        Other columns that are kept.
    """

    places: Places
    examples: NDArray[Any]
    feature_names: tuple[str, ...]
    labels: NDArray[Any] | None
    tasks: NDArray[Any] | None
    label_name: str
    task_name: str
    names: NDArray[np.str_] | None
    splits: NDArray[np.str_] | None


@dataclass(frozen=True)
class Roles:
    """The places of the columns by what they are for; None for those that are not there."""

    features: tuple[int, ...]
    label: int | None
    task: int | None
    sequence: int | None
    name: int | None
    split: int | None

    def feature_names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the features, or that of the column of sequences."""
        if self.sequence is not None:
            return (names[self.sequence],)
        return tuple(names[i] for i in self.features)


def find_roles(
    names: Sequence[str],
    wanted: Wanted,
    is_number: Callable[[int], bool],
    source: str,
    line: int | None = None,
) -> Roles:
    """Say what each column of a table is for.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    wanted : Wanted
        What the caller calls them.
    is_number : callable
        Says of the place of a column whether it holds numbers.
    source : str
        Name of the file.
    line : int, optional
        1-based line of the header.

    Raises
    ------
    InputFormatError
        If a wanted column is missing, a name is empty or comes twice, or there are no features.
    """
    _check_names(names, source, line)
    required = [wanted.label] * wanted.require_labels
    if wanted.task != TASK_COLUMN:
        required.append(wanted.task)
    elif wanted.features is None:
        required += _near_task(names)
    required += [wanted.sequence] if wanted.sequence is not None else wanted.features or ()
    for name in required:
        if name not in names:
            refuse_missing("the header must name the column", name, names, source, line)

    place = {name: i for i, name in enumerate(names)}
    taken = {wanted.label, wanted.task, wanted.sequence, *(wanted.features or ())}
    row_names = [name for name in NAME_COLUMNS if name in place and name not in taken]
    split = None if SPLIT_COLUMN in taken else place.get(SPLIT_COLUMN)
    if wanted.features is None and wanted.sequence is None and split is not None:
        split = None if is_number(split) else split
    taken.update(row_names)
    others = tuple(i for i, name in enumerate(names) if name not in taken and i != split)
    features = others if wanted.features is None else tuple(map(place.__getitem__, wanted.features))
    if wanted.sequence is None and not features:
        raise InputFormatError(
            f"the table must have a column of features, got only {shown(names)}; add one, or say "
            "which column holds sequences",
            path=source,
            line=line,
        )
    if others and (wanted.sequence is not None or wanted.features is not None):
        log_left_out([names[i] for i in others], source)
    return Roles(
        features=features if wanted.sequence is None else (),
        label=place.get(wanted.label),
        task=place.get(wanted.task),
        sequence=None if wanted.sequence is None else place[wanted.sequence],
        name=place[row_names[0]] if row_names else None,
        split=split,
    )


def log_left_out(names: Sequence[str], source: str) -> None:
    """Say which columns are not read."""
    logger.info("%s: columns left out: %s", source, shown(names))


def refuse_missing(
    rule: str, name: str, names: Sequence[str], source: str, line: int | None = None
) -> NoReturn:
    """Raise the error of a name that is not there, with those that may have been meant."""
    lowered = {known.lower(): known for known in names}
    close = [repr(lowered[key]) for key in get_close_matches(name.lower(), lowered, n=3)]
    hint = f"did you mean {' or '.join(close)}?" if close else "add it, or say how it is named"
    raise InputFormatError(f"{rule} {name!r}, got {shown(names)}; {hint}", path=source, line=line)


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


def _check_names(names: Sequence[str], source: str, line: int | None) -> None:
    if "" in names:
        raise InputFormatError(
            f"the header must name every column, got no name for column {names.index('') + 1}; "
            "name it 'name' if it holds the names or numbers of the rows",
            path=source,
            line=line,
        )
    check_distinct(names, source, line)


def _near_task(names: Sequence[str]) -> list[str]:
    """Ask for a task column where another spelling of it would be taken for a feature."""
    is_near = {name.lower() for name in names} & {TASK_COLUMN, TASK_COLUMN + "s"}
    return [TASK_COLUMN] if is_near else []
