"""Read examples, numbers or sequences of any letters, with labels and tasks from one table."""

from __future__ import annotations

import csv
import io
import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import (
    PAD_BYTES,
    PathLike,
    first_bytes,
    line_blocks,
    readable,
    source_name,
)

logger = logging.getLogger(__name__)

_ROWS_AT_A_TIME = 64  # few enough that their cells stay in the processor cache
_NAME_COLUMNS = ("name", "id")  # the first one present holds the names of the rows
_SPLIT_COLUMN, _TASK_COLUMN = "split", "task"
_MOST_NAMES_SHOWN = 12
_MISSING = ("", "nan", "na", "n/a", "null")
_LARGEST_EXACT = 2.0**53
_LONGEST_FIELD = 2**31 - 1
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_COMPRESSIONS = (".gz", ".bgz")
_TITLES = {",": "commas", "\t": "tabs"}
_OTHER_SEPARATORS = ",;\t|"
# what cells of a role must hold, and the remedy
_REQUIRED = {
    "sequence": ("a sequence in every row", "fill it in or leave the row out"),
    "y": ("a label in every row", "fill it in, or leave the row or the whole column out"),
    "tasks": ("the name or number of a task", "fill it in, or leave the row out"),
}


@dataclass(frozen=True, eq=False)
class NumericTable:
    """Examples with their labels and tasks.

    Attributes
    ----------
    X : ndarray of shape (n, d) float64, or (n,) str
        Features, all finite; or sequences, if these are the examples.
    y : ndarray of shape (n,), optional
        Labels as given: int64 if all are whole numbers, else float64 or str.
    tasks : ndarray of str, shape (n,), optional
        Name of the task of each example; None if the file has no tasks.
    feature_names : tuple of str
        Names of the d features, or of the column of sequences.
    names : ndarray of str, shape (n,)
        Names of the examples; 0-based row numbers if the file has none.
    splits : ndarray of str, shape (n,), optional
        Contents of the column ``split``.
    source : str
        Name of the file.
    """

    X: NDArray[Any]
    y: NDArray[Any] | None
    tasks: NDArray[np.str_] | None
    feature_names: tuple[str, ...]
    names: NDArray[np.str_]
    splits: NDArray[np.str_] | None
    source: str

    def __len__(self) -> int:
        return len(self.X)

    def select(self, rows: ArrayLike | slice) -> NumericTable:
        """Return a subset of the rows, by index, boolean mask or slice."""
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        columns = {name: getattr(self, name) for name in ("X", "y", "tasks", "names", "splits")}
        cut: dict[str, Any]
        cut = {name: None if array is None else array[chosen] for name, array in columns.items()}
        return replace(self, **cut)


def read_numeric_table(
    path: PathLike,
    *,
    label: str = "label",
    task: str = "task",
    sequence: str | None = None,
    features: Sequence[str] | None = None,
    require_labels: bool = True,
) -> NumericTable:
    """Read a table of features, labels and tasks.

    The file is UTF-8 text with a header line and CSV quoting, plain, gzip or bgzip, separated by
    commas (``.csv``) or tabs (``.tsv``, ``.txt``); other names tell by the first line. Columns
    other than the label and the task are features, in order. ``name`` or ``id`` holds row names.
    ``split`` is kept separately, unless its first cell is a number and it is therefore a feature.

    Parameters
    ----------
    path : path-like
        File, or ``"-"`` for standard input.
    label : str
        Name of the column of labels.
    task : str
        Name of the column of tasks. It may be missing if this is the default.
    sequence : str, optional
        Name of a column of sequences to use as examples instead of features.
    features : sequence of str, optional
        Columns to use as features, in this order; others are ignored. Default: all columns
        without another role.
    require_labels : bool
        Whether labels are required.

    Returns
    -------
    NumericTable
        All rows, in order.

    Raises
    ------
    InputFormatError
        If the file is not such a table; the message gives the file, the 1-based line and the
        column.
    ValueError
        If two of label, task and sequence have the same name.

    Examples
    --------
    >>> table = read_numeric_table("expression.csv", task="tissue")  # doctest: +SKIP
    """
    given = [name for name in (label, task, sequence) if name is not None]
    if len(set(given)) < len(given):
        raise ValueError(
            f"label, task and sequence must be different columns, got {', '.join(given)}; name each"
        )
    reader = _Reader(path)
    required = [] if not require_labels else [label]
    if task != _TASK_COLUMN or (features is None and reader.has_near_task()):
        required.append(task)
    required += [] if sequence is None else [sequence]
    reader.check_names([*required, *(features or ())])
    place = reader.places.get
    roles = {"y": place(label), "tasks": place(task), "sequence": place(sequence or "")}
    roles = roles | reader.own_columns(set(roles.values()), sequence, features)
    chosen = reader.choose_features(set(roles.values()), sequence, features)
    return reader.table(roles, chosen)


class _Reader:
    """A table that is open: its header and its first row."""

    def __init__(self, path: PathLike) -> None:
        self.source, self.delimiter = source_name(path), _delimiter_of(path)
        self.lines: list[int] = []  # of the rows that have been read
        records = self._records(path)
        header = next((record for record in records if not _is_blank(record[1])), (1, []))
        self.header_line, self.names = header[0], [name.strip() for name in header[1]]
        self._check_header()
        rows = self._rows(records)
        self.first = next(rows, (0, []))
        self.rows = chain([self.first], rows)
        if not self.first[1]:
            self._refuse(
                None, "the table must have rows, but it has only a header; check how it was written"
            )
        self.places = {name: column for column, name in enumerate(self.names)}

    def _refuse(self, line: int | None, message: str) -> NoReturn:
        raise InputFormatError(message, path=self.source, line=line)

    def _refuse_cell(self, row: int, column: int, rule: str, got: str, remedy: str) -> NoReturn:
        """Raise an error that gives the line of a cell and its column."""
        message = f"column {self.names[column]!r} must hold {rule}, got {got}; {remedy}"
        self._refuse(self.lines[row], message)

    def _records(self, path: PathLike) -> Iterator[tuple[int, list[str]]]:
        """Yield the 1-based first line and the fields of every record, blank ones too."""
        texts = (readable(block.text[:-PAD_BYTES]) for block in line_blocks(path))
        lines = chain.from_iterable(map(io.StringIO, texts))
        csv.field_size_limit(_LONGEST_FIELD)  # a global setting of csv; its default is 131,072
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True, skipinitialspace=True)
        line = 1
        try:
            for row in reader:
                yield line, row
                line = 1 + reader.line_num
        except csv.Error as error:
            shown = str(error).replace("\t", "tab")
            self._refuse(
                line,
                f"the line must be quoted as in CSV, but it cannot be read ({shown}); correct its "
                "quotes and its end",
            )

    def _rows(self, records: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
        """Yield the records that are not blank, which must have all fields."""
        n_columns = len(self.names)
        for line, row in records:
            if len(row) == n_columns and (n_columns > 1 or row[0].strip()):
                yield line, row
            elif not _is_blank(row):
                self._refuse(
                    line,
                    f"a row must have {n_columns} fields separated by {_TITLES[self.delimiter]} "
                    f"like the header, got {len(row)}; correct the line",
                )

    def _check_header(self) -> None:
        """Check that the first line names columns with this separator."""
        names, line, title = self.names, self.header_line, _TITLES[self.delimiter]
        if not names:
            message = "the file must hold a table, but it is empty; check how it was written"
            self._refuse(None, message)
        if names[0].startswith(">"):
            self._refuse(
                line,
                f"the file must hold a table, got {names[0]!r}, which looks like FASTA; give a "
                "table with a header line",
            )
        if len(names) == 1 and any(mark in names[0] for mark in _OTHER_SEPARATORS):
            self._refuse(
                line,
                f"the columns must be separated by {title}, got the header {names[0]!r}; write the "
                "table that way, or name the file .csv (commas) or .tsv (tabs) accordingly",
            )
        is_numbered = names == [str(i) for i in range(len(names))]
        if all(map(is_number, names)) and not is_numbered:
            got = ", ".join(names[:5])
            message = f"the first line must name the columns, got the numbers {got}; add a header "
            self._refuse(line, message + "line")

    def has_near_task(self) -> bool:
        """Tell whether a column is another spelling of the task column."""
        return bool({name.lower() for name in self.names} & {_TASK_COLUMN, _TASK_COLUMN + "s"})

    def check_names(self, required: Sequence[str]) -> None:
        """Refuse columns without a name or with that of another, and missing ones."""
        if "" in self.names:
            self._refuse(
                self.header_line,
                "the header must name every column, got no name for column "
                f"{self.names.index('') + 1}; name it 'name' if it holds the names or numbers of "
                "the rows",
            )
        check_distinct(self.names, self.source, self.header_line)
        lowered = {name.lower(): name for name in self.names}
        for name in required:
            if name in self.places:
                continue
            close = [repr(lowered[key]) for key in get_close_matches(name.lower(), lowered, n=3)]
            meant = f"did you mean {' or '.join(close)}?"
            hint = meant if close else "add it, or give its actual name"
            message = f"the header must name the column {name!r}, got {_shown(self.names)}; {hint}"
            self._refuse(self.header_line, message)

    def own_columns(
        self, taken: set[int | None], sequence: str | None, features: Sequence[str] | None
    ) -> dict[str, int | None]:
        """Return the columns of the names and of the split, and names that are not used."""
        taken = taken | {self.places[name] for name in features or ()}
        found: dict[str, int | None] = {}
        for name in _NAME_COLUMNS:
            if name in self.places and self.places[name] not in taken:
                found["names" if "names" not in found else "other names"] = self.places[name]
        split = self.places.get(_SPLIT_COLUMN)
        takes_all = sequence is None and features is None
        if split is not None and split not in taken:
            is_feature = takes_all and is_number(self.first[1][split])
            found["splits"] = None if is_feature else split
        return found

    def choose_features(
        self, taken: set[int | None], sequence: str | None, features: Sequence[str] | None
    ) -> tuple[int, ...]:
        """Return the columns of the features, or of the sequences."""
        free = [column for column in range(len(self.names)) if column not in taken]
        chosen = free if features is None else [self.places[name] for name in features]
        if sequence is not None:
            chosen = [self.places[sequence]]
        if not chosen:
            self._refuse(
                self.header_line,
                f"the table must have a column of features, got only {_shown(self.names)}; add "
                "one, or name the column that holds sequences",
            )
        left_out = [self.names[column] for column in free if column not in chosen]
        if left_out:
            logger.info("%s: columns left out: %s", self.source, _shown(left_out))
        return tuple(chosen)

    def table(self, roles: dict[str, int | None], features: tuple[int, ...]) -> NumericTable:
        """Read the columns with a role, and refuse missing and non-finite values."""
        of_role = {role: column for role, column in roles.items() if column is not None}
        texts: dict[int, list[str]] = {column: [] for column in of_role.values()}
        numbers = []
        while batch := list(islice(self.rows, _ROWS_AT_A_TIME)):
            self.lines += [line for line, _ in batch]
            for column, cells in texts.items():
                cells += [row[column].strip() for _, row in batch]
            if "sequence" not in of_role:
                numbers.append(self._numbers([row for _, row in batch], features))
        found = {role: np.array(texts[column], str) for role, column in of_role.items()}
        is_missing = {role: cells == "" for role, cells in found.items()}
        if "y" in found:
            found["y"], is_missing["y"] = _labels(found["y"])
        for role, (rule, remedy) in _REQUIRED.items():
            if role in found and is_missing[role].any():
                row = int(is_missing[role].argmax())
                got = "an empty cell" if role == "sequence" else repr(found[role][row].item())
                self._refuse_cell(row, of_role[role], rule, got, remedy)
        n = len(self.lines)
        logger.info("%s: read %d examples", self.source, n)
        return NumericTable(
            X=np.concatenate(numbers) if numbers else found["sequence"],
            y=found.get("y"),
            tasks=found.get("tasks"),
            feature_names=tuple(self.names[column] for column in features),
            names=found.get("names", np.arange(n).astype(str)),
            splits=found.get("splits"),
            source=self.source,
        )

    def _numbers(self, rows: list[list[str]], features: tuple[int, ...]) -> NDArray[np.float64]:
        # with a single index itemgetter would return the cell itself
        one = slice(features[0], features[0] + 1)
        take = itemgetter(*features) if len(features) > 1 else itemgetter(one)
        cells = list(chain.from_iterable(map(take, rows)))
        try:
            values = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
            is_bad = "_" in "".join(cells) or not np.isfinite(values).all()
        except ValueError:
            is_bad = True
        if is_bad:
            self._refuse_number(cells, len(self.lines) - len(rows), features)
        return values.reshape(len(rows), len(features))

    def _refuse_number(self, cells: list[str], first: int, features: tuple[int, ...]) -> NoReturn:
        """Refuse the first cell that is not a finite number."""
        is_bad = (not is_number(cell) or not np.isfinite(float(cell)) for cell in cells)
        place = next(i for i, bad in enumerate(is_bad) if bad)
        row, column = divmod(place, len(features))
        cell = cells[place].strip()
        got = str(float(cell)) if is_number(cell) else repr(cell) if cell else "an empty cell"
        remedy = "correct the cell, or leave the row or the column out"
        self._refuse_cell(first + row, features[column], "finite numbers", got, remedy)


def _labels(texts: NDArray[np.str_]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return labels, as whole numbers or else as floats or else as texts, and which are missing."""
    cells = texts.tolist()
    if not all(map(is_number, cells)):
        return texts, np.isin(np.char.lower(texts), _MISSING)
    labels = np.array(list(map(float, cells)))
    is_missing = ~np.isfinite(labels)
    try:
        return np.array(list(map(int, cells)), dtype=np.int64), is_missing
    except (ValueError, OverflowError):
        is_whole = not is_missing.any() and (labels % 1 == 0).all()
        is_exact = is_whole and (np.abs(labels) < _LARGEST_EXACT).all()
        return labels.astype(np.int64) if is_exact else labels, is_missing


def _delimiter_of(path: PathLike) -> str:
    """Return the separator of a table: by the name of the file, else by its first line."""
    name = os.fspath(path).lower()
    for compression in _COMPRESSIONS:
        name = name.removesuffix(compression)
    ending = os.path.splitext(name)[1]
    if ending in _DELIMITERS:
        return _DELIMITERS[ending]
    return "\t" if b"\t" in first_bytes(path).lstrip().partition(b"\n")[0] else ","


def _is_blank(row: list[str]) -> bool:
    return not "".join(row).strip()


def is_number(cell: str) -> bool:
    """Tell whether a cell is a number; 1_000 is one in Python only."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _shown(names: Sequence[str]) -> str:
    """Format names for a message, at most a dozen."""
    text = ", ".join(map(repr, names[:_MOST_NAMES_SHOWN]))
    return text if len(names) <= _MOST_NAMES_SHOWN else f"{text}, ... ({len(names):,} in all)"


def check_distinct(names: Sequence[str], source: str, line: int | None = None) -> None:
    """Refuse repeated column names."""
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InputFormatError(
            f"the header must name a column once, got {name!r} again; rename one",
            path=source,
            line=line,
        )
