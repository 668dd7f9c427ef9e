"""Split blocks of tab-separated lines into arrays of fields, without a loop over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PAD_BYTES, Lines, readable

_TAB = 9
_LINE_FEED = 10
_HASH = 35
LONGEST_NAME = PAD_BYTES - 1
_MAX_DIGITS = 18


@dataclass(frozen=True)
class Fields:
    """The fields of a block of lines, without blank lines and comments.

    Attributes
    ----------
    source : str
        Name of the file.
    text : ndarray of uint8
        The block's bytes and its padding.
    ends : ndarray of int64, shape (n_rows, n_columns)
        Index in `text` of the tab or line feed that ends each field.
    row_begins : ndarray of int64, shape (n_rows,)
        Index of the first byte of each row.
    lines : ndarray of int64, shape (n_rows,)
        1-based line numbers.
    n_special : ndarray of int64, shape (n_rows, n_columns)
        Number of `special` bytes in each field, see :func:`split_fields`.
    """

    source: str
    text: NDArray[np.uint8]
    ends: NDArray[np.int64]
    row_begins: NDArray[np.int64]
    lines: NDArray[np.int64]
    n_special: NDArray[np.int64]

    def __len__(self) -> int:
        return self.row_begins.size

    def begins(self, column: int) -> NDArray[np.int64]:
        """Return the index in `text` where each field of a column begins."""
        return self.row_begins if column == 0 else self.ends[:, column - 1] + 1

    def lengths(self, column: int) -> NDArray[np.int64]:
        """Return the lengths of a column's fields in bytes."""
        return self.ends[:, column] - self.begins(column)

    def string(self, row: int, column: int) -> str:
        """Return one field as text."""
        return readable(self.text[self.begins(column)[row] : self.ends[row, column]].tobytes())

    def strings(self, column: int) -> list[str]:
        """Return all fields of a column as text."""
        text = self.text.tobytes()
        spans = zip(self.begins(column).tolist(), self.ends[:, column].tolist(), strict=True)
        return [readable(text[begin:end]) for begin, end in spans]

    def rows(self, chosen: NDArray[Any] | slice) -> Fields:
        """Return a subset of the rows."""
        columns = ("ends", "row_begins", "lines", "n_special")
        return replace(self, **{name: getattr(self, name)[chosen] for name in columns})

    def refuse(self, row: int, message: str) -> NoReturn:
        """Raise an error that gives the line of a row."""
        raise InputFormatError(message, path=self.source, line=int(self.lines[row]))

    def refuse_first(self, is_bad: NDArray[np.bool_], column: int, rule: str, remedy: str) -> None:
        """Raise an error that gives the first bad field and its line, if there is one."""
        if is_bad.any():
            row = int(is_bad.argmax())
            self.refuse(row, f"{rule}, got {self.string(row, column)!r}; {remedy}")

    def bytes_of(self, column: int, what: str) -> NDArray[np.bytes_]:
        """Return a column of short fields as fixed-width byte strings, shape (n_rows,).

        Raises
        ------
        InputFormatError
            If a field is longer than 255 bytes.
        """
        lengths = self.lengths(column)
        width = max(1, int(lengths.max(initial=1)))
        if width > LONGEST_NAME:
            rule = f"{what} must have at most {LONGEST_NAME} bytes, got {width}; shorten it"
            self.refuse(int(lengths.argmax()), rule)
        letters = cut(self.text, self.begins(column), width)
        letters[np.arange(width) >= lengths[:, None]] = 0
        return letters.view(f"S{width}").ravel()

    def integers(self, column: int, what: str) -> NDArray[np.int64]:
        """Parse a column of non-negative integers, shape (n_rows,).

        Raises
        ------
        InputFormatError
            If a field is not 1 to 18 digits.
        """
        lengths = self.lengths(column)
        width = min(max(1, int(lengths.max(initial=1))), _MAX_DIGITS)
        digits = cut(self.text, self.begins(column), width).astype(np.int64) - ord("0")
        in_field = np.arange(width) < lengths[:, None]
        is_bad = (((digits < 0) | (digits > 9)) & in_field).any(axis=1)
        is_bad |= (lengths < 1) | (lengths > _MAX_DIGITS)
        rule = f"{what} must be a whole number of 0 or more"
        self.refuse_first(is_bad, column, rule, "correct it")
        values = np.zeros(len(self), dtype=np.int64)
        for digit in range(width):
            inside = in_field[:, digit]
            values[inside] = values[inside] * 10 + digits[inside, digit]
        return values

    def numbers(self, column: int, what: str) -> NDArray[np.float64]:
        """Parse a column of short fields, shape (n_rows,); what is no number becomes NaN."""
        texts = self.bytes_of(column, what)
        try:
            return texts.astype(np.float64)
        except ValueError:
            return np.array([_number(readable(text)) for text in texts.tolist()])

    def signs(self, column: int) -> NDArray[np.bool_]:
        """Parse a column of strands: True for ``-``, shape (n_rows,).

        Raises
        ------
        InputFormatError
            If a field is neither ``+`` nor ``-``.
        """
        letters = self.text[self.begins(column)]
        is_reverse: NDArray[np.bool_] = letters == ord("-")
        is_bad = (self.lengths(column) != 1) | ~(is_reverse | (letters == ord("+")))
        self.refuse_first(is_bad, column, "strand must be + or -", "give the strand of the site")
        return is_reverse


def split_fields(
    block: Lines,
    n_columns: int,
    source: str,
    *,
    special: NDArray[np.int64] | None = None,
    is_comment: Callable[[bytes], bool] | None = None,
) -> Fields:
    """Split a block of lines at tabs and line ends.

    Parameters
    ----------
    block : Lines
        Complete lines.
    n_columns : int
        Fields per line; blank lines are skipped.
    source : str
        Name of the file, for messages.
    special : ndarray of int64, optional
        Rising indices in the text that include all tabs and line feeds; the others are counted
        per field as `n_special`. Default: the control characters.
    is_comment : callable, optional
        Called for lines with another number of fields or a leading ``#``; returns whether the
        line is a comment.

    Raises
    ------
    InputFormatError
        If a line has another number of fields.
    """
    text = np.frombuffer(block.text, dtype=np.uint8)
    if special is None:
        special = np.flatnonzero(text[:-PAD_BYTES] <= _LINE_FEED)
    kinds = text[special]
    is_end = kinds == _LINE_FEED
    order = np.flatnonzero(is_end | (kinds == _TAB))
    ends, is_end = special[order], is_end[order]
    last = np.flatnonzero(is_end)
    n_fields = np.diff(last, prepend=-1)
    row_begins = np.concatenate([[0], ends[last[:-1]] + 1])[: last.size]
    lines = block.first_line + np.arange(last.size)
    n_special = np.diff(order, prepend=-1) - 1

    suspect = n_fields != n_columns
    if n_columns == 1:
        suspect |= ends[last] == row_begins
    if is_comment is not None:
        suspect |= text[row_begins] == _HASH
    if suspect.any():
        is_row = np.ones(n_fields.size, dtype=bool)
        for row in np.flatnonzero(suspect):
            line = block.text[row_begins[row] : ends[last[row]]]
            is_row[row] = line.strip() and not (is_comment is not None and is_comment(line))
        bad = is_row & (n_fields != n_columns)
        if bad.any():
            first = int(bad.argmax())
            raise InputFormatError(
                f"a row must have {n_columns} tab-separated fields like the first, "
                f"got {n_fields[first]}; correct the line",
                path=source,
                line=int(lines[first]),
            )
        is_field_kept = np.repeat(is_row, n_fields)
        n_special, ends = n_special[is_field_kept], ends[is_field_kept]
        row_begins, lines = row_begins[is_row], lines[is_row]
    shape = (lines.size, n_columns)
    return Fields(source, text, ends.reshape(shape), row_begins, lines, n_special.reshape(shape))


def cut(text: NDArray[np.uint8], begins: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Copy `width` bytes of a flat array from each index, shape (len(begins), width)."""
    if not begins.size:
        return np.empty((0, width), dtype=np.uint8)
    return np.lib.stride_tricks.sliding_window_view(text, width)[begins]


def _number(cell: str) -> float:
    """Return a cell as a number, NaN if it is none; 1_000 is one in Python only."""
    try:
        return np.nan if "_" in cell else float(cell)
    except ValueError:
        return np.nan


def find_columns(header: bytes, line: int, required: Sequence[str], source: str) -> dict[str, int]:
    """Return the index of every column named in a header.

    Parameters
    ----------
    header : bytes
        The header line; empty if the file has none.
    line : int
        Its 1-based number.
    required : sequence of str
        Required columns.
    source : str
        Name of the file, for messages.

    Raises
    ------
    InputFormatError
        If there is no header, a column is missing, or a name is repeated.
    """
    if not header:
        raise InputFormatError(
            "the file must hold a table, but it is empty; check how it was written", path=source
        )
    names = [name.strip() for name in readable(header).split("\t")]
    for name in required:
        if name not in names:
            raise InputFormatError(
                f"the header must name the column {name!r}, got {', '.join(map(repr, names))}; "
                f"{_column_hint(name, names, header)}",
                path=source,
                line=line,
            )
    repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if repeated is not None:
        raise InputFormatError(
            f"the header must name a column once, got {repeated!r} again; rename one",
            path=source,
            line=line,
        )
    return {name: i for i, name in enumerate(names)}


def _column_hint(required: str, names: list[str], header: bytes) -> str:
    """Suggest what may have been meant by a missing column."""
    lowered = {name.strip("\"'#").lower(): name for name in names}
    if header.lstrip().startswith(b">"):
        return "this looks like FASTA, not a table"
    if len(names) == 1 and any(mark in header for mark in b",; "):
        return "separate the columns by tabs"
    if close := get_close_matches(required, lowered, n=1):
        return f"rename {lowered[close[0]]!r} to {required!r}"
    return f"add a column named {required!r}"
