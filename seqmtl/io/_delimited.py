"""Comma- or tab-separated text as columns of numbers and names."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PAD_BYTES, PathLike, line_blocks, readable, source_name
from seqmtl.io._table_columns import Cells, Places, Roles, TableFile

_ROWS_AT_A_TIME = 64  # few enough that their cells stay in the processor cache
_LONGEST_FIELD = 2**31 - 1
_TITLES = {",": "commas", "\t": "tabs"}
_OTHER_SEPARATORS = ",;\t|"


class DelimitedFile(TableFile):
    """A table whose first nonblank line names the columns.

    Raises
    ------
    InputFormatError
        If a row has a different number of fields from the header, a feature is not a number, the
        quoting is not that of CSV, or the file is not text.
    """

    def __init__(self, path: PathLike, delimiter: str) -> None:
        source = source_name(path)
        records = _records(path, delimiter, source)
        line, header = next(((line, row) for line, row in records if not _is_blank(row)), (1, []))
        self.names = [name.strip() for name in header]
        self.header_line = line
        _check_header(self.names, delimiter, source, line)
        self._rows = _rows(records, len(self.names), delimiter, source)
        self._first = next(self._rows, (0, []))
        if not self._first[1]:
            raise InputFormatError(
                "the table must have rows, but it has only a header; check how it was written",
                path=source,
            )
        self._lines: list[int] = []
        self.places = Places(source, self._lines)

    def is_number(self, column: int) -> bool:
        """Tell whether the first cell of a column is a number."""
        return _is_number(self._first[1][column])

    def read(self, roles: Roles) -> Cells:
        """Return the values of the columns with a role."""
        kept = (roles.label, roles.task, roles.sequence, roles.name, roles.split)
        texts: dict[int, list[str]] = {column: [] for column in kept if column is not None}
        numbers = []
        rows = chain([self._first], self._rows)
        while batch := list(islice(rows, _ROWS_AT_A_TIME)):
            self._lines += [line for line, _ in batch]
            for column, cells in texts.items():
                cells += [row[column].strip() for _, row in batch]
            if roles.features:
                numbers.append(self._numbers([row for _, row in batch], roles.features))
        found: dict[int | None, NDArray[np.str_]]
        found = {column: np.array(cells, dtype=str) for column, cells in texts.items()}
        labels = found.get(roles.label)
        return Cells(
            examples=np.concatenate(numbers) if numbers else found[roles.sequence],
            labels=None if labels is None else _as_numbers(labels),
            tasks=found.get(roles.task),
            names=found.get(roles.name),
            splits=found.get(roles.split),
        )

    def _numbers(self, rows: list[list[str]], features: Sequence[int]) -> NDArray[np.float64]:
        # with a single index itemgetter would return the cell itself
        one = slice(features[0], features[0] + 1)
        take = itemgetter(*features) if len(features) > 1 else itemgetter(one)
        cells = list(chain.from_iterable(map(take, rows)))
        try:
            values = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
            is_bad = "_" in "".join(cells)  # 1_000 is a number in Python only
        except ValueError:
            is_bad = True
        if is_bad:
            place = next(i for i, cell in enumerate(cells) if not _is_number(cell))
            row, column = divmod(place, len(features))
            got = cells[place].strip()
            name = self.names[features[column]]
            place = len(self._lines) - len(rows) + row
            self.places.refuse_number(place, name, repr(got) if got else "an empty cell")
        return values.reshape(len(rows), len(features))


def _rows(
    records: Iterator[tuple[int, list[str]]], n_columns: int, delimiter: str, source: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the nonblank records; each must have all fields."""
    for line, row in records:
        if len(row) == n_columns and (n_columns > 1 or row[0].strip()):
            yield line, row
        elif not _is_blank(row):
            raise InputFormatError(
                f"a row must have {n_columns} fields separated by {_TITLES[delimiter]} like the "
                f"header, got {len(row)}; correct the line",
                path=source,
                line=line,
            )


def _is_blank(row: list[str]) -> bool:
    return not "".join(row).strip()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _as_numbers(texts: NDArray[np.str_]) -> NDArray[Any]:
    """Convert to integers if possible, else to floats, else keep the texts."""
    cells = texts.tolist()
    if all(map(_is_number, cells)):
        try:
            return np.array(list(map(int, cells)), dtype=np.int64)
        except (ValueError, OverflowError):
            return np.array(list(map(float, cells)), dtype=np.float64)
    return texts


def _records(path: PathLike, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the 1-based first line and the fields of every record."""
    texts = (readable(block.text[:-PAD_BYTES]) for block in line_blocks(path))
    lines = chain.from_iterable(map(io.StringIO, texts))
    csv.field_size_limit(_LONGEST_FIELD)  # a global setting of csv; its default is 131,072
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    line = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise InputFormatError(
                f"the line must be quoted as in CSV, but it cannot be read ({error}); correct its "
                "quotes and its end",
                path=source,
                line=line,
            ) from error
        if row is None:
            return
        yield line, row
        line = 1 + reader.line_num


def _check_header(names: list[str], delimiter: str, source: str, line: int) -> None:
    """Check for a table header with this separator."""
    if not names:
        raise InputFormatError(
            "the file must hold a table, but it is empty; check how it was written", path=source
        )
    if names[0].startswith(">"):
        raise InputFormatError(
            f"the file must hold a table, got {names[0]!r}, which looks like FASTA; give a table "
            "with a header line",
            path=source,
            line=line,
        )
    if len(names) == 1 and any(mark in names[0] for mark in _OTHER_SEPARATORS):
        raise InputFormatError(
            f"the columns must be separated by {_TITLES[delimiter]}, got the header {names[0]!r}; "
            "write the table that way, or name the file .csv (commas) or .tsv (tabs) accordingly",
            path=source,
            line=line,
        )
    is_numbered = names == [str(i) for i in range(len(names))]
    if all(map(_is_number, names)) and not is_numbered:
        raise InputFormatError(
            f"the first line must name the columns, got the numbers {', '.join(names[:5])}; add a "
            "header line",
            path=source,
            line=line,
        )
