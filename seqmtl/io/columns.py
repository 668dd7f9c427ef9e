"""Columns of tab-separated text as arrays, block by block, without a loop over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PAD_BYTES, Lines, readable
from seqmtl.io.numeric_tables import check_distinct
from seqmtl.sequences import Genome
from seqmtl.sequences.genome import unknown_contig

_TAB, _LINE_FEED, _HASH = 9, 10, 35
LONGEST_NAME = PAD_BYTES - 1
_MOST_DIGITS = 18
_MOST_NAMES = int(np.iinfo(np.int16).max)
_MOST_CONTIGS = 1 << 31

_LABELS = {"1": 1, "+1": 1, "-1": -1, "0": 0}
LABEL_RULE = "label must be 1, -1 or 0"

_DTYPES = {
    "starts": np.int64,
    "is_reverse": np.bool_,
    "labels": np.int8,
    "task_ids": np.int16,
    "splits": np.int16,
    "weights": np.float32,
    "rows": np.int32,
}


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
    strays : ndarray of int64, shape (n_rows, n_columns)
        Number of `special` bytes in each field, see :func:`split_fields`.
    """

    source: str
    text: NDArray[np.uint8]
    ends: NDArray[np.int64]
    row_begins: NDArray[np.int64]
    lines: NDArray[np.int64]
    strays: NDArray[np.int64]

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

    def rows(self, chosen: NDArray[Any]) -> Fields:
        """Return a subset of the rows."""
        columns = ("ends", "row_begins", "lines", "strays")
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
        width = min(max(1, int(lengths.max(initial=1))), _MOST_DIGITS)
        digits = cut(self.text, self.begins(column), width).astype(np.int64) - ord("0")
        in_field = np.arange(width) < lengths[:, None]
        is_bad = (((digits < 0) | (digits > 9)) & in_field).any(axis=1)
        is_bad |= (lengths < 1) | (lengths > _MOST_DIGITS)
        rule = f"{what} must be a whole number of 0 or more"
        self.refuse_first(is_bad, column, rule, "correct it")
        values = np.zeros(len(self), dtype=np.int64)
        for place in range(width):
            inside = in_field[:, place]
            values[inside] = values[inside] * 10 + digits[inside, place]
        return values

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
        per field as `strays`. Default: the control characters.
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
    strays = np.diff(order, prepend=-1) - 1

    suspect = n_fields != n_columns
    if n_columns == 1:
        suspect |= ends[last] == row_begins
    if is_comment is not None:
        suspect |= text[row_begins] == _HASH
    if suspect.any():
        kept = np.ones(n_fields.size, dtype=bool)
        for row in np.flatnonzero(suspect):
            line = block.text[row_begins[row] : ends[last[row]]]
            kept[row] = line.strip() and not (is_comment is not None and is_comment(line))
        bad = kept & (n_fields != n_columns)
        if bad.any():
            first = int(bad.argmax())
            raise InputFormatError(
                f"a row must have {n_columns} tab-separated fields like the first, "
                f"got {n_fields[first]}; correct the line",
                path=source,
                line=int(lines[first]),
            )
        keep_field = np.repeat(kept, n_fields)
        strays, ends = strays[keep_field], ends[keep_field]
        row_begins, lines = row_begins[kept], lines[kept]
    shape = (lines.size, n_columns)
    return Fields(source, text, ends.reshape(shape), row_begins, lines, strays.reshape(shape))


def cut(text: NDArray[np.uint8], begins: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Copy `width` bytes of a flat array from each index, shape (len(begins), width)."""
    if not begins.size:
        return np.empty((0, width), dtype=np.uint8)
    return np.lib.stride_tricks.sliding_window_view(text, width)[begins]


def find_columns(header: bytes, line: int, wanted: Sequence[str], source: str) -> dict[str, int]:
    """Return the index of every column named in a header.

    Parameters
    ----------
    header : bytes
        The header line; empty if the file has none.
    line : int
        Its 1-based number.
    wanted : sequence of str
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
    for name in wanted:
        if name not in names:
            raise InputFormatError(
                f"the header must name the column {name!r}, got {', '.join(map(repr, names))}; "
                f"{_column_hint(name, names, header)}",
                path=source,
                line=line,
            )
    check_distinct(names, source, line)
    return {name: i for i, name in enumerate(names)}


def _column_hint(wanted: str, names: list[str], header: bytes) -> str:
    """Suggest what may have been meant by a missing column."""
    lowered = {name.strip("\"'#").lower(): name for name in names}
    if header.lstrip().startswith(b">"):
        return "this looks like FASTA, not a table"
    if len(names) == 1 and any(mark in header for mark in b",; "):
        return "separate the columns by tabs"
    if close := get_close_matches(wanted, lowered, n=1):
        return f"rename {lowered[close[0]]!r} to {wanted!r}"
    return f"add a column named {wanted!r}"


class LabelColumn:
    """Parse labels block by block, and refuse files with both -1 and 0 for negatives.

    Parameters
    ----------
    source : str
        Name of the file.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._first_line: dict[int, int] = {}

    def parse(self, fields: Fields, column: int) -> NDArray[np.int8]:
        """Return +1 and -1 (also for 0), shape (n_rows,).

        Raises
        ------
        InputFormatError
            If a label is not 1, +1, -1 or 0, or the file has both -1 and 0.
        """
        begins, lengths = fields.begins(column), fields.lengths(column)
        first, second = fields.text[begins], fields.text[begins + 1]
        is_long = (lengths == 2) & (second == ord("1"))
        is_one = ((lengths == 1) & (first == ord("1"))) | (is_long & (first == ord("+")))
        is_minus = is_long & (first == ord("-"))
        is_zero = (lengths == 1) & (first == ord("0"))
        is_bad = ~(is_one | is_minus | is_zero)
        fields.refuse_first(is_bad, column, LABEL_RULE, "correct the field")
        for value, mask in ((-1, is_minus), (0, is_zero)):
            if mask.any():
                self._see(value, int(fields.lines[mask.argmax()]))
        return np.where(is_one, 1, -1).astype(np.int8)

    def parse_text(self, text: str, line: int) -> int:
        """Return +1 or -1 for one label."""
        if text not in _LABELS:
            message = f"{LABEL_RULE}, got {text!r}; correct it"
            raise InputFormatError(message, path=self.source, line=line)
        if _LABELS[text] <= 0:
            self._see(_LABELS[text], line)
        return 1 if _LABELS[text] == 1 else -1

    def _see(self, value: int, line: int) -> None:
        self._first_line.setdefault(value, line)
        if len(self._first_line) == 2:
            by_line = sorted(self._first_line.items(), key=lambda item: item[1])
            (earlier, first), (later, second) = by_line
            raise InputFormatError(
                f"labels must be 1 and -1, or 1 and 0, but this file has {earlier} on line {first} "
                f"and {later} on line {second}; use one of them for negatives",
                path=self.source,
                line=second,
            )


class NameTable:
    """Names of a column, numbered in order of appearance across all blocks.

    Parameters
    ----------
    what : str
        What the names stand for, in messages.
    most : int
        Maximum number of distinct names.
    """

    def __init__(self, what: str, most: int = _MOST_NAMES) -> None:
        self.what, self.most = what, most
        self.names: list[str] = []
        self.lines: list[int] = []  # where each was first seen
        self._sorted = np.empty(0, dtype="S1")
        self._ids = np.empty(0, dtype=np.int64)

    def encode(self, fields: Fields, column: int) -> NDArray[np.int64]:
        """Return the number of the name in each row, shape (n_rows,).

        Raises
        ------
        InputFormatError
            If a name is empty or longer than 255 bytes, or there are too many names.
        """
        values = fields.bytes_of(column, self.what)
        ids, is_known = self._look_up(values)
        if not is_known.all():
            self._learn(fields, values, np.flatnonzero(~is_known))
            ids, _ = self._look_up(values)
        return ids

    def number(self, name: str) -> int:
        """Return the number of a name, or -1 if it is unknown."""
        return self.names.index(name) if name in self.names else -1

    def _look_up(self, values: NDArray[np.bytes_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        if not self._ids.size:
            return np.zeros(values.size, np.int64), np.zeros(values.size, np.bool_)
        places = np.minimum(np.searchsorted(self._sorted, values), self._ids.size - 1)
        return self._ids[places], self._sorted[places] == values

    def _learn(self, fields: Fields, values: NDArray[np.bytes_], rows: NDArray[np.int64]) -> None:
        new, first = np.unique(values[rows], return_index=True)
        order = np.argsort(first)
        new = new[order]
        if (new == b"").any():
            row = int(np.flatnonzero(values == b"")[0])
            fields.refuse(row, f"{self.what} must not be empty; fill the field")
        known = np.concatenate([self._sorted, new])
        ids = np.concatenate([self._ids, len(self.names) + np.arange(new.size)])
        if ids.size > self.most:
            raise InputFormatError(
                f"there must be at most {self.most:,} different values of {self.what}; "
                "check that it is the right column",
                path=fields.source,
            )
        self.names += [readable(name) for name in new.tolist()]
        self.lines += fields.lines[rows[first[order]]].tolist()
        order = np.argsort(known)
        self._sorted, self._ids = known[order], ids[order]


class Places(NamedTuple):
    """Intervals of a block of rows, on contigs of genomes that share a buffer.

    Attributes
    ----------
    begins, ends : ndarray of int64, shape (n_rows,)
        0-based half-open positions in the contigs.
    contig_starts, contig_lengths : ndarray of int64, shape (n_rows,)
        First base of each contig in the buffer, and its length in bases.
    is_reverse : ndarray of bool, shape (n_rows,)
        Whether a row is on the minus strand.
    """

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    contig_starts: NDArray[np.int64]
    contig_lengths: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]

    def rows(self, chosen: NDArray[Any]) -> Places:
        """Return a subset of the rows."""
        return Places(*(column[chosen] for column in self))


class PlaceColumns:
    """Parse contigs, positions and strands block by block.

    Parameters
    ----------
    genomes : sequence of Genome
        Genomes by the number of their task.
    columns : dict of str to int
        Columns of contig, position, strand and, if there is one, end; without one, a row is a
        single base.
    start : str
        What the column of positions is called.
    """

    def __init__(
        self, genomes: Sequence[Genome], columns: dict[str, int], start: str = "start"
    ) -> None:
        self.genomes, self.columns, self.start = genomes, columns, start
        self.contigs = NameTable("contig", _MOST_CONTIGS)

    def parse(self, fields: Fields, tasks: NDArray[np.int64] | None = None) -> Places:
        """Return the places of the rows, each in the genome of its task (0 by default).

        Raises
        ------
        InputFormatError
            If a row is not inside a contig of its genome, or has no strand.
        """
        starts, lengths = self._contigs(fields, np.zeros(1, np.int64) if tasks is None else tasks)
        begins = fields.integers(self.columns["position"], self.start)
        ends = begins + 1
        if "end" in self.columns:
            ends = fields.integers(self.columns["end"], "end")
        bad = np.flatnonzero((begins >= ends) | (ends > lengths))
        if bad.size:
            row = int(bad[0])
            rule, remedy = "start before it ends", "swap or correct the coordinates"
            if begins[row] < ends[row]:
                contig = fields.string(row, self.columns["contig"])
                rule = f"lie inside {contig} ({lengths[row]} bases)"
                remedy = "coordinates are 0-based, half-open; check that it is the right genome"
            fields.refuse(row, f"site must {rule}, got {begins[row]}-{ends[row]}; {remedy}")
        return Places(begins, ends, starts, lengths, fields.signs(self.columns["strand"]))

    def _contigs(
        self, fields: Fields, tasks: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first base of each row's contig in the buffer, and its length."""
        ids = self.contigs.encode(fields, self.columns["contig"])
        names = self.contigs.names
        pairs, first, inverse = np.unique(
            tasks * len(names) + ids, return_index=True, return_inverse=True
        )
        facts = np.empty((pairs.size, 2), dtype=np.int64)
        for i in np.argsort(first).tolist():
            task, number = divmod(int(pairs[i]), len(names))
            genome, name = self.genomes[task], names[number]
            if name not in genome:
                asked = [name, *(other for other in names if other != name)]
                fields.refuse(int(first[i]), unknown_contig(asked, genome.names))
            contig = genome.index(name)
            facts[i] = genome.starts[contig], genome.lengths[contig]
        return facts[inverse, 0], facts[inverse, 1]


class WindowColumns:
    """The columns of windows, gathered block by block.

    Parameters
    ----------
    source : str
        Name of the file.

    Attributes
    ----------
    labels : LabelColumn
        Parses labels.
    organisms, splits : NameTable
        Number organisms and splits.
    """

    def __init__(self, source: str) -> None:
        self.source, self.labels = source, LabelColumn(source)
        self.organisms, self.splits = NameTable("organism"), NameTable("split")
        self.forget()

    def forget(self) -> None:
        """Drop the rows, but not the names."""
        self._parts: dict[str, list[NDArray[Any]]] = {}

    def add(self, chosen: NDArray[Any] | slice, /, **columns: NDArray[Any] | None) -> None:
        """Append the chosen rows of columns."""
        for name, values in columns.items():
            if values is not None:
                part: NDArray[Any] = values[chosen].astype(_DTYPES[name])
                self._parts.setdefault(name, []).append(part)

    def joined(self, name: str) -> NDArray[Any] | None:
        """Return a column, or None if it was never added."""
        return np.concatenate(self._parts[name]) if name in self._parts else None

    def arguments(self) -> dict[str, Any]:
        """Return the columns as the arguments of Windows have them."""
        names = ("starts", "is_reverse", "labels", "task_ids", "splits", "weights")
        columns: dict[str, Any] = {name: self.joined(name) for name in names}
        if columns["task_ids"] is not None:
            columns["task_names"] = self.organisms.names
        return {**columns, "split_names": self.splits.names}
