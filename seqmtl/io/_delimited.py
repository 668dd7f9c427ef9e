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
from seqmtl.files.streams import PAD_BYTES, Lines, PathLike, line_blocks, readable, source_name
from seqmtl.io._table_columns import Columns, Places, Roles, Wanted, find_roles

_ROWS_AT_A_TIME = 64  # few enough that their cells stay in the cache of the processor
_TITLES = {",": "commas", "\t": "tabs"}
_OTHER_SEPARATORS = ",;\t|"


def read_delimited(path: PathLike, delimiter: str, wanted: Wanted) -> Columns:
    """Read a table whose first line that is not blank names the columns.

    Raises
    ------
    InputFormatError
        If a row has another number of fields than the header, a feature is no number, the quotes
        are not those of CSV, or the file is not text.
    """
    source = source_name(path)
    records = _records(path, delimiter, source)
    line, header = next(((line, row) for line, row in records if not _is_blank(row)), (1, []))
    names = [name.strip() for name in header]
    _check_header(names, delimiter, source, line)
    rows = _rows(records, len(names), delimiter, source)
    first_line, first = next(rows, (0, []))
    if not first:
        raise InputFormatError(
            "the table must have rows, but there is only a header; check how it was written",
            path=source,
        )
    roles = find_roles(names, wanted, lambda i: _is_number(first[i]), source, line)
    table = _Table(source, names, roles)
    rows = chain([(first_line, first)], rows)
    while batch := list(islice(rows, _ROWS_AT_A_TIME)):
        table.add(*zip(*batch, strict=True))
    return table.columns(wanted)


class _Table:
    """What has been read so far, in columns."""

    def __init__(self, source: str, names: list[str], roles: Roles) -> None:
        self.source, self.names, self.roles = source, names, roles
        self.lines: list[int] = []
        self.numbers: list[NDArray[np.float64]] = []
        kept = (roles.label, roles.task, roles.sequence, roles.name, roles.split)
        self.texts: dict[int, list[str]] = {column: [] for column in kept if column is not None}

    def add(self, lines: Sequence[int], rows: Sequence[list[str]]) -> None:
        """Take in some rows."""
        self.lines += lines
        for column, texts in self.texts.items():
            texts += [row[column].strip() for row in rows]
        if self.roles.features:
            self.numbers.append(self._numbers(rows, Places(self.source, lines)))

    def columns(self, wanted: Wanted) -> Columns:
        """Return all that was read."""
        roles = self.roles
        labels, sequences = self._text(roles.label), self._text(roles.sequence)
        return Columns(
            places=Places(self.source, self.lines),
            examples=np.concatenate(self.numbers) if sequences is None else sequences,
            feature_names=roles.feature_names(self.names),
            labels=None if labels is None else _as_numbers(labels),
            tasks=self._text(roles.task),
            label_name=wanted.label,
            task_name=wanted.task,
            names=self._text(roles.name),
            splits=self._text(roles.split),
        )

    def _numbers(self, rows: Sequence[list[str]], places: Places) -> NDArray[np.float64]:
        features = self.roles.features
        # itemgetter of one place would return the cell itself
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
            places.refuse_number(row, name, repr(got) if got else "an empty cell")
        return values.reshape(len(rows), len(features))

    def _text(self, column: int | None) -> NDArray[np.str_] | None:
        return None if column is None else np.array(self.texts[column], dtype=str)


def _rows(
    records: Iterator[tuple[int, list[str]]], n_columns: int, delimiter: str, source: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not blank; each must have all fields."""
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
    """Return whole numbers, else numbers, else the texts."""
    cells = texts.tolist()
    if all(map(_is_number, cells)):
        try:
            return np.array(list(map(int, cells)), dtype=np.int64)
        except (ValueError, OverflowError):
            return np.array(list(map(float, cells)), dtype=np.float64)
    return texts


def _records(path: PathLike, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the 1-based first line and the fields of every record.

    Up to the first quote of a file a line is a record, and cut twice as fast as csv does it.
    """
    blocks = line_blocks(path)
    for block in blocks:
        text = _text_of(block, source)
        if '"' in text or "\r" in text:
            yield from _quoted_records(chain([block], blocks), delimiter, source)
            return
        lines = text.split("\n")[:-1]
        yield from enumerate((line.split(delimiter) for line in lines), block.first_line)


def _quoted_records(
    blocks: Iterator[Lines], delimiter: str, source: str
) -> Iterator[tuple[int, list[str]]]:
    first = next(blocks)
    texts = (_text_of(block, source) for block in chain([first], blocks))
    lines = chain.from_iterable(map(io.StringIO, texts))
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    line = first.first_line
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
        line = first.first_line + reader.line_num


def _text_of(block: Lines, source: str) -> str:
    text = block.text[:-PAD_BYTES]
    if b"\0" in text:
        raise InputFormatError(
            "the file must be text, but it is binary; is it the right one?", path=source
        )
    return readable(text)


def _check_header(names: list[str], delimiter: str, source: str, line: int) -> None:
    """Refuse what is no header of a table with this separator."""
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
            "write the table so, or name the file .csv (commas) or .tsv (tabs) as it is",
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
