"""Text of rows and columns: tables with a header (also CSV), BED, and other formats."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain, compress, count, groupby, repeat
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import check_distinct
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import (
    PathLike,
    kind_of_text,
    line_blocks,
    numbered_lines,
    readable,
    source_name,
)
from seqmtl.sequences.genome import unknown_contig

#: Digits of the largest coordinate.
MAX_DIGITS = 18
#: What :func:`is_coordinate` asks for.
WHOLE_NUMBER = f"a whole number of up to {MAX_DIGITS} digits"
#: Bytes of the longest name of an organism, a split or a contig.
LONGEST_NAME = 255
#: What pandas, R and Python write for a missing value, in lower case.
MISSING = frozenset(("nan", "na", "n/a", "<na>", "none", "null"))

_NO_ROWS = (b"track", b"browser")
_STARTS_OF_NO_ROWS = b"#tb \t\v\f"
_MAX_LETTERS = 60
_SIMILAR = 0.5  # similarity of names; that of seq and sequence is 0.55
_ALMOST = 0.76  # that of organism_name and organism; size and site have 0.75
_MIN_SEQUENCE = 6  # letters by which a field is a sequence and no name of a column
_MAX_NAMES = int(np.iinfo(np.int16).max)


def is_row(line: bytes) -> bool:
    """Return whether a BED line is a row, not blank, a comment, or a track or browser line."""
    if line[:1] not in _STARTS_OF_NO_ROWS:
        return True
    first = line.split(None, 1)[:1]
    return bool(first) and not line.startswith(b"#") and first[0] not in _NO_ROWS


def is_not_blank(line: bytes) -> bool:
    """Return whether a line is not blank; one of several tabs is a row of empty fields."""
    return bool(line.strip()) or line.count(b"\t") > 1


def is_coordinate(field: bytes | str) -> bool:
    """Return whether a field is a coordinate: a whole number that fits into 64 bits."""
    return field.isascii() and field.isdigit() and len(field) <= MAX_DIGITS


def as_number(text: str) -> float:
    """Return a field as a number, NaN if it is none; 1_000 is one in Python only."""
    try:
        return float("nan") if "_" in text else float(text)
    except ValueError:
        return float("nan")


class Row(NamedTuple):
    """A row of tab-separated text; its methods raise InputFormatError with the file and the line.

    Attributes
    ----------
    source : str
        Name of the file.
    line : int
        1-based line.
    fields : list of str
        The columns.
    record : str or None
        Name of the record, in a file that has names.
    """

    source: str
    line: int
    fields: list[str]
    record: str | None = None

    def refuse(self, message: str) -> NoReturn:
        """Raise the error for an invalid row."""
        raise InputFormatError(message, path=self.source, line=self.line, record=self.record)

    def check_columns(self, min_columns: int, rule: str, remedy: str = "correct the line") -> None:
        """Refuse a row of fewer columns."""
        if len(self.fields) < min_columns:
            self.refuse(f"{rule}, got {len(self.fields)}; {remedy}")

    def check_width(self, n_columns: int, separator: str) -> None:
        """Refuse a row of another number of columns than the first."""
        if len(self.fields) != n_columns:
            kind = "comma" if separator == "," else "tab"
            remedy = "correct the line"
            if len(self.fields) == n_columns + 1:
                remedy += ", or write the table without row names (in R: row.names = FALSE)"
            self.refuse(
                f"a row must have {n_columns} {kind}-separated fields like the first, "
                f"got {len(self.fields)}; {remedy}"
            )

    def integer(self, column: int, what: str = "a coordinate") -> int:
        """Return a coordinate or a count."""
        return self.parse(self.fields[column], what)

    def parse(self, text: str, what: str = "a coordinate") -> int:
        """Return a part of a field as a coordinate or a count."""
        if not is_coordinate(text):
            self.refuse(f"{what} must be {WHOLE_NUMBER}, got {text[:_MAX_LETTERS]!r}; correct it")
        return int(text)

    def strand(self, column: int, unknown: str = "") -> str:
        """Return ``+`` or ``-``, or ``.`` for one of the letters that stand for no strand."""
        strand = self.fields[column]
        if strand in ("+", "-"):
            return strand
        if strand not in list(unknown):
            rule = "+, - or ." if unknown else "+ or -"
            self.refuse(
                f"strand must be {rule}, got {strand[:_MAX_LETTERS]!r}; give that of the row"
            )
        return "."

    def interval(
        self, lengths: Mapping[str, int], what: str = "an interval", remedy: str = ""
    ) -> tuple[str, int, int]:
        """Return contig, start and end of BED, given the lengths of the contigs."""
        contig, start, end = self.fields[0], self.integer(1, "start"), self.integer(2, "end")
        length = lengths.get(contig)
        if length is None:
            self.refuse(unknown_contig([contig], list(lengths)))
        if not start < end <= length:
            rule, hint = "start before it ends", "swap or correct the coordinates"
            if start < end:
                rule = f"lie inside {contig} ({length} bases)"
                hint = "coordinates are 0-based, half-open; check that it is the right genome"
            self.refuse(f"{what} must {rule}, got {start}-{end}; {remedy or hint}")
        return contig, start, end


def rows_of(
    lines: Iterable[tuple[int, bytes]], source: str, is_row: Callable[[bytes], object] = is_row
) -> Iterator[Row]:
    """Yield the rows among numbered lines; by default without comments, track, browser lines."""
    for line, text in lines:
        if is_row(text):
            yield Row(source, line, readable(text).split("\t"))


def read_rows(path: PathLike) -> Iterator[Row]:
    """Yield the rows of a file of BED or the like, plain, gzip or bgzip."""
    return rows_of(numbered_lines(path), source_name(path))


class Columns:
    """Rows of one block of a file, column by column.

    A column is checked as a whole; if it is not as it should be, row by row, by the methods of
    :class:`Row`, whose errors give the line.

    Parameters
    ----------
    source : str
        Name of the file.
    lines : sequence of int
        1-based lines of the rows.
    fields : list of str
        The fields of all rows, one row after the other.
    record : int, optional
        Index of the column of their names, in a file of records.
    """

    def __init__(
        self, source: str, lines: Sequence[int], fields: list[str], record: int | None = None
    ) -> None:
        self.source, self._lines, self._fields, self._record = source, lines, fields, record
        self._n_columns = len(fields) // len(lines) if lines else 1

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Row]:
        return map(self.row, range(len(self)))

    def row(self, number: int) -> Row:
        """Return one of the rows."""
        first = number * self._n_columns
        fields = self._fields[first : first + self._n_columns]
        record = None if self._record is None else fields[self._record]
        return Row(self.source, self._lines[number], fields, record)

    def between(self, first: int, last: int) -> Columns:
        """Return the rows first..last-1."""
        fields = self._fields[first * self._n_columns : last * self._n_columns]
        return Columns(self.source, self._lines[first:last], fields, self._record)

    def take(self, chosen: Sequence[bool] | NDArray[np.bool_]) -> Columns:
        """Return the rows for which a mask is true."""
        fields = compress(self._fields, np.repeat(chosen, self._n_columns))
        lines = [*compress(self._lines, chosen)]
        return Columns(self.source, lines, [*fields], self._record)

    def split(self, n: int) -> Iterator[Columns]:
        """Yield n rows at a time."""
        return (self.between(first, first + n) for first in range(0, len(self), n))

    def runs(self, column: int) -> Iterator[tuple[str, Columns]]:
        """Yield runs of rows that have the same text in a column, with this text."""
        first = 0
        for text, run in groupby(self.texts(column)):
            last = first + sum(1 for _ in run)
            yield text, self.between(first, last)
            first = last

    def texts(self, column: int) -> list[str]:
        """Return a column."""
        return self._fields[column :: self._n_columns]

    def integers(self, column: int, what: str = "a coordinate") -> NDArray[np.int64]:
        """Return a column of coordinates or counts, see :meth:`Row.integer`."""
        texts = self.texts(column)
        digits = "".join(texts)
        is_short = max(map(len, texts)) <= MAX_DIGITS
        if not (digits.isascii() and digits.isdigit() and is_short and all(texts)):
            for row in self:
                row.integer(column, what)
        return np.fromiter(map(int, texts), np.int64, len(texts))

    def is_reverse(self, column: int) -> NDArray[np.bool_]:
        """Return which rows are on the minus strand, see :meth:`Row.strand`."""
        strands = self.texts(column)
        if not {"+", "-"}.issuperset(strands):
            for row in self:
                row.strand(column)
        return np.fromiter(map("-".__eq__, strands), np.bool_, len(strands))

    def intervals(
        self, lengths: Mapping[str, int], what: str = "an interval", remedy: str = ""
    ) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
        """Return contigs, starts and ends, see :meth:`Row.interval`."""
        contigs, starts, ends = self.texts(0), self.integers(1, "start"), self.integers(2, "end")
        n_bases = np.fromiter(map(lengths.get, contigs, repeat(-1)), np.int64, len(contigs))
        if not ((starts < ends) & (ends <= n_bases)).all():
            for row in self:
                row.interval(lengths, what, remedy)
        return contigs, starts, ends


def read_columns(
    blocks: Iterable[tuple[int, list[bytes]]],
    source: str,
    n_columns: int,
    is_row: Callable[[bytes], object],
    separator: str = "\t",
    has_quotes: bool = False,
) -> Iterator[Columns]:
    """Yield the rows of a file, a block at a time; `has_quotes` as for :func:`fields_of`.

    Raises
    ------
    InputFormatError
        If a row has another number of fields, or text in quotes does not end.
    """
    mark = separator.encode()
    for first_line, lines in blocks:
        are_rows = [*map(is_row, lines)]
        numbers = [*compress(count(first_line), are_rows)]
        rows = [*compress(lines, are_rows)]
        fields: list[str] = []
        are_quoted = has_quotes and any(b'"' in row for row in rows)
        for number, row in zip(numbers, rows, strict=True):
            if are_quoted or row.count(mark) != n_columns - 1:
                parts = fields_of(row, separator, source, number, has_quotes=has_quotes)
                one = Row(source, number, parts)
                one.check_width(n_columns, separator)
                fields += one.fields
        if rows:
            text = "" if are_quoted else readable(mark.join(rows))
            yield Columns(source, numbers, fields if are_quoted else text.split(separator))


def separator_of(header: bytes) -> str:
    """Return the separator of a table by its header: a comma if that has one and no tab."""
    return "," if b"," in header and b"\t" not in header else "\t"


def fields_of(row: bytes, separator: str, source: str, line: int, *, has_quotes: bool) -> list[str]:
    """Return the fields of a row; with `has_quotes` they may be in double quotes, on one line.

    Raises
    ------
    InputFormatError
        If text in quotes does not end.
    """
    text = readable(row)
    if not has_quotes or '"' not in text:
        return text.split(separator)
    try:
        return next(csv.reader([text], delimiter=separator, strict=True))
    except csv.Error as error:
        raise InputFormatError(
            f"text in quotes must end on its line, and a quote in it be doubled ({error}); "
            "correct the line",
            path=source,
            line=line,
        ) from None


def pop_row(
    blocks: Iterator[tuple[int, list[bytes]]], source: str, is_row: Callable[[bytes], object]
) -> tuple[Row | None, Iterator[tuple[int, list[bytes]]]]:
    """Return the first row, or None, and the blocks of the lines after it."""
    for first_line, lines in blocks:
        for row in rows_of(enumerate(lines, first_line), source, is_row):
            n = row.line + 1 - first_line
            return row, chain([(row.line + 1, lines[n:])], blocks)
    return None, blocks


def read_table(path: PathLike, required: Sequence[str]) -> tuple[dict[str, int], Iterator[Columns]]:
    """Read a table whose first row names the columns; blank lines are skipped.

    Columns are separated by tabs, or by commas if there is one and no tab in the first row. Lines
    of # before that row are comments. Fields of CSV may be in double quotes, and those of a table
    with tabs if its first row has quotes.

    Returns
    -------
    columns : dict of str to int
        The index of every column.
    blocks : iterator of Columns
        The rows after the header.

    Raises
    ------
    InputFormatError
        If the file has another format, there is no header, a column is missing, or a name is
        repeated; by the iterator, if a row has another number of fields.
    """
    source = source_name(path)
    blocks = line_blocks(path)
    first, blocks = pop_row(blocks, source, is_not_blank)
    header = first
    while header is not None and _is_comment(header, required):
        header, blocks = pop_row(blocks, source, is_not_blank)
    if first is None or header is None:
        raise InputFormatError(
            "the file must hold records or rows, but it is empty; check how it was written",
            path=source,
        )
    if kind := kind_of_text("\t".join(first.fields)):
        first.refuse(f"the file must be a table with a header, but it looks like {kind}")
    text = "\t".join(header.fields)
    separator = separator_of(text.encode())
    fields = fields_of(text.encode(), separator, source, header.line, has_quotes=separator in text)
    header = header._replace(fields=fields)
    columns = find_columns(header, required)
    n = len(header.fields)
    has_quotes = separator == "," or '"' in text
    return columns, read_columns(blocks, source, n, is_not_blank, separator, has_quotes)


def _is_comment(row: Row, required: Sequence[str]) -> bool:
    """Return whether a row before the header is a comment, and not the names of columns."""
    text = "\t".join(row.fields)
    names = {name.strip("# ") for name in text.replace(",", "\t").split("\t")}
    return text.startswith("#") and names.isdisjoint(required)


def find_columns(header: Row, required: Sequence[str]) -> dict[str, int]:
    """Return the index of every column that a header names.

    Raises
    ------
    InputFormatError
        If a column is missing, or a name is repeated.
    """
    names = [name.strip() for name in header.fields]
    for name in required:
        if name not in names:
            header.refuse(
                f"the header must name the column {name!r}, got {', '.join(map(repr, names))}; "
                f"{_column_hint(name, names)}"
            )
    repeated = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
    if repeated is not None:
        header.refuse(f"the header must name a column once, got {repeated!r} again; rename one")
    return {name: i for i, name in enumerate(names)}


#: Other names that are used for the optional columns.
_LIKE = {
    "organism": ("species", "task", "org", "taxon"),
    "split": ("set", "fold", "partition", "subset"),
    "site": (),
}


def check_no_other_name(names: Collection[str], source: str, wanted: str, remedy: str) -> None:
    """Refuse names of columns or keys that lack one, if another seems to be meant as it.

    Parameters
    ----------
    names : collection of str
        The names.
    source : str
        The file.
    wanted : {"organism", "split", "site"}
        The one that may be missing.
    remedy : str
        What to do besides renaming it.

    Raises
    ------
    InputFormatError
        If there is one.
    """
    if wanted in names:
        return
    lowered = {name.lower(): name for name in names}
    for name in [*get_close_matches(wanted, lowered, n=1, cutoff=_ALMOST), *_LIKE[wanted]]:
        if name in lowered:
            raise InputFormatError(
                f"{wanted}s must be named {wanted!r}, got {lowered[name]!r}; rename it, or "
                f"{remedy}",
                path=source,
            )


def _column_hint(required: str, names: list[str]) -> str:
    """Suggest what may have been meant by a missing column."""
    lowered = {name.strip("\"'# ").lower(): name for name in names}
    if len(names) > 2 and all(map(is_coordinate, names[1:3])):
        return "this looks like BED; give its genome, too (--reference), or cut the windows"
    if len(names) > 7 and all(map(is_coordinate, names[3:5])):
        return "this looks like GFF or GTF, which is for seqmtl dataset"
    if any(len(name) >= _MIN_SEQUENCE and {*name.upper()} <= {*"ACGTUN"} for name in names):
        return "this looks like a row; write a header above it"
    if len(names) == 1 and {" ", ";"} & {*names[0]}:
        return "separate the columns by tabs"
    if close := get_close_matches(required, lowered, n=1, cutoff=_SIMILAR):
        return f"rename {lowered[close[0]]!r} to {required!r}"
    return f"add a column named {required!r}"


def refuse_split(split: str | None, counts: Mapping[Any, int], source: str) -> NoReturn:
    """Refuse a split that no row or record has, given their number by split."""
    values = ", ".join(f"{name} ({n:,} rows)" for name, n in counts.items())
    raise InputFormatError(
        f"must be one of those in the file, {values}, got {split!r}; choose one of them",
        path=source,
        option="split",
    )


class NameColumn:
    """The names in a column of organisms or splits, numbered in order of appearance.

    Blanks around them do not count.

    Parameters
    ----------
    what : str
        Name of the column, for messages.
    column : int
        Its index.

    Attributes
    ----------
    names : list of str
        The names.
    lines : list of int
        The line where each is first.
    """

    def __init__(self, what: str, column: int) -> None:
        self._what, self._column = what, column
        self.names: list[str] = []
        self.lines: list[int] = []
        self._numbers: dict[str, int] = {}

    def numbers(self, rows: Columns) -> NDArray[np.int16]:
        """Return the number of the name in each row.

        Raises
        ------
        InputFormatError
            If a name is empty or longer than 255 bytes, or there are too many names.
        """
        names = rows.texts(self._column)
        if not self._numbers.keys() >= {*names}:
            for number, name in enumerate(names):
                if name not in self._numbers:
                    self._add(rows.row(number))
        return np.fromiter(map(self._numbers.__getitem__, names), np.int16, len(names))

    def check_organisms(self, source: str) -> None:
        """Check the names of organisms.

        Raises
        ------
        InputFormatError
            If two mean one organism, or a missing value is among several names.
        """
        if len(self.names) > 1:
            for name, line in zip(self.names, self.lines, strict=True):
                if name.lower() in MISSING:
                    raise InputFormatError(
                        f"{self._what} must not be missing, got {name!r}; fill the field, or "
                        "rename the organism if this is its name",
                        path=source,
                        line=line,
                    )
        check_distinct(self.names, source, self.lines)

    def _add(self, row: Row) -> None:
        field = row.fields[self._column]
        name = field.strip()
        if name not in self._numbers:
            self._check(name, row)
            self._numbers[name] = len(self.names)
            self.names.append(name)
            self.lines.append(row.line)
        self._numbers[field] = self._numbers[name]

    def _check(self, name: str, row: Row) -> None:
        if not name:
            row.refuse(f"{self._what} must not be empty; fill the field")
        if len(name.encode()) > LONGEST_NAME:
            row.refuse(
                f"{self._what} must have at most {LONGEST_NAME} bytes, got {len(name.encode())}; "
                "shorten it"
            )
        if len(self.names) == _MAX_NAMES:
            row.refuse(
                f"there must be at most {_MAX_NAMES:,} different values of {self._what}; "
                "check that it is the right column"
            )


class LabelColumn:
    """The labels of a file, which must not have both -1 and 0 for negatives.

    Parameters
    ----------
    source : str
        Name of the file.
    blank : bool
        Whether labels may be missing.
    """

    def __init__(self, source: str, *, blank: bool = False) -> None:
        self.source = source
        self._signs = {"1": 1, "+1": 1, "1.0": 1}  # of the labels so far
        if blank:
            self._signs[""] = 0
        self._first_line: dict[str, int] = {}  # of -1 and of 0

    def signs(self, rows: Columns, column: int) -> NDArray[np.int8]:
        """Return +1, or -1 (also for 0), for each label; 1.0 is 1, as pandas writes it.

        Raises
        ------
        InputFormatError
            If a label is not 1, +1, -1 or 0, or the file has both -1 and 0.
        """
        texts = rows.texts(column)
        for text in dict.fromkeys(texts):
            if text not in self._signs:
                self._add(text, rows.row(texts.index(text)).line)
        return np.fromiter(map(self._signs.__getitem__, texts), np.int8, len(texts))

    def _add(self, text: str, line: int) -> None:
        """Take note of another label of negatives."""
        negative = text.removesuffix(".0")
        if negative not in ("-1", "0"):
            message = f"label must be 1, -1 or 0, got {text!r}; correct it"
            raise InputFormatError(message, path=self.source, line=line)
        self._signs[text] = -1
        self._first_line.setdefault(negative, line)
        if len(self._first_line) == 2:
            (earlier, first), (later, second) = self._first_line.items()
            raise InputFormatError(
                f"labels must be 1 and -1, or 1 and 0, but this file has {earlier} on line {first} "
                f"and {later} on line {second}; use one of them for negatives",
                path=self.source,
                line=second,
            )
