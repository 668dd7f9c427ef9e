"""Columns across all blocks of a file: labels, names as numbers, intervals, windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import readable
from seqmtl.io.fields import Fields
from seqmtl.sequences import Genome
from seqmtl.sequences.genome import unknown_contig

_MAX_NAMES = int(np.iinfo(np.int16).max)
_MAX_CONTIGS = 1 << 31

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
        first = fields.text[begins]
        second = fields.text[begins + 1]
        is_long = (lengths == 2) & (second == ord("1"))
        is_one = ((lengths == 1) & (first == ord("1"))) | (is_long & (first == ord("+")))
        is_minus = is_long & (first == ord("-"))
        is_zero = (lengths == 1) & (first == ord("0"))
        is_bad = ~(is_one | is_minus | is_zero)
        fields.refuse_first(is_bad, column, LABEL_RULE, "correct the field")
        for value, mask in ((-1, is_minus), (0, is_zero)):
            if mask.any():
                self._note_value(value, int(fields.lines[mask.argmax()]))
        return np.where(is_one, 1, -1).astype(np.int8)

    def parse_text(self, text: str, line: int) -> int:
        """Return +1 or -1 for one label."""
        if text not in _LABELS:
            message = f"{LABEL_RULE}, got {text!r}; correct it"
            raise InputFormatError(message, path=self.source, line=line)
        if _LABELS[text] <= 0:
            self._note_value(_LABELS[text], line)
        return 1 if _LABELS[text] == 1 else -1

    def _note_value(self, value: int, line: int) -> None:
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
        Name of the column, for messages.
    max_names : int
        Maximum number of distinct names.
    """

    def __init__(self, what: str, max_names: int = _MAX_NAMES) -> None:
        self.what = what
        self.max_names = max_names
        self.names: list[str] = []
        self.lines: list[int] = []  # of the first row of each
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
        ids, is_known = self._ids_of(values)
        if not is_known.all():
            self._add_names(fields, values, np.flatnonzero(~is_known))
            ids, _ = self._ids_of(values)
        return ids

    def number(self, name: str) -> int:
        """Return the number of a name, or -1 if it is unknown."""
        return self.names.index(name) if name in self.names else -1

    def _ids_of(self, values: NDArray[np.bytes_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        if not self._ids.size:
            return np.zeros(values.size, np.int64), np.zeros(values.size, np.bool_)
        positions = np.minimum(np.searchsorted(self._sorted, values), self._ids.size - 1)
        return self._ids[positions], self._sorted[positions] == values

    def _add_names(
        self, fields: Fields, values: NDArray[np.bytes_], rows: NDArray[np.int64]
    ) -> None:
        new_values, first = np.unique(values[rows], return_index=True)
        order = np.argsort(first)
        new_values = new_values[order]
        if (new_values == b"").any():
            row = int(np.flatnonzero(values == b"")[0])
            fields.refuse(row, f"{self.what} must not be empty; fill the field")
        all_names = np.concatenate([self._sorted, new_values])
        ids = np.concatenate([self._ids, len(self.names) + np.arange(new_values.size)])
        if ids.size > self.max_names:
            raise InputFormatError(
                f"there must be at most {self.max_names:,} different values of {self.what}; "
                "check that it is the right column",
                path=fields.source,
            )
        self.names += [readable(name) for name in new_values.tolist()]
        self.lines += fields.lines[rows[first[order]]].tolist()
        order = np.argsort(all_names)
        self._sorted, self._ids = all_names[order], ids[order]


class Intervals(NamedTuple):
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


class IntervalColumns:
    """Parse contigs, positions and strands block by block.

    Parameters
    ----------
    genomes : sequence of Genome
        Genomes by the number of their task.
    columns : dict of str to int
        Columns of contig, position, strand and, if there is one, end; without one, a row is a
        single base.
    start : str
        Name of the column of positions.
    what, remedy : str
        What a row describes, and what to do about an invalid one, for messages.
    """

    def __init__(
        self,
        genomes: Sequence[Genome],
        columns: dict[str, int],
        start: str = "start",
        what: str = "site",
        remedy: str = "",
    ) -> None:
        self.genomes = genomes
        self.columns = columns
        self.start = start
        self.what = what
        self.remedy = remedy
        self.contigs = NameTable("contig", _MAX_CONTIGS)
        self._contig_of: list[list[int]] = [[] for _ in genomes]  # the contig of each name, or -1

    def parse(self, fields: Fields, tasks: NDArray[np.int64] | None = None) -> Intervals:
        """Return the intervals of the rows, each in the genome of its task (0 by default).

        Raises
        ------
        InputFormatError
            If a row is not inside a contig of its genome, or has no strand.
        """
        starts, lengths = self._contigs(fields, tasks)
        begins = fields.integers(self.columns["position"], self.start)
        ends = begins + 1
        if "end" in self.columns:
            ends = fields.integers(self.columns["end"], "end")
        rows_outside = np.flatnonzero((begins >= ends) | (ends > lengths))
        if rows_outside.size:
            row = int(rows_outside[0])
            rule = "start before it ends"
            remedy = "swap or correct the coordinates"
            if begins[row] < ends[row]:
                contig = fields.string(row, self.columns["contig"])
                rule = f"lie inside {contig} ({lengths[row]} bases)"
                remedy = "coordinates are 0-based, half-open; check that it is the right genome"
            interval = f"{begins[row]}-{ends[row]}"
            fields.refuse(row, f"{self.what} must {rule}, got {interval}; {self.remedy or remedy}")
        return Intervals(begins, ends, starts, lengths, fields.signs(self.columns["strand"]))

    def _contigs(
        self, fields: Fields, tasks: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first base of each row's contig in the buffer, and its length."""
        ids = self.contigs.encode(fields, self.columns["contig"])
        names = self.contigs.names
        starts, lengths = np.empty_like(ids), np.empty_like(ids)
        for task, (genome, contig_of) in enumerate(zip(self.genomes, self._contig_of, strict=True)):
            rows = np.arange(ids.size) if tasks is None else np.flatnonzero(tasks == task)
            new_names = names[len(contig_of) :]
            contig_of += [genome.index(name) if name in genome else -1 for name in new_names]
            contigs = np.array(contig_of)[ids[rows]]
            if (contigs < 0).any():
                row = int(rows[(contigs < 0).argmax()])
                name = names[ids[row]]
                other_names = [other for other in names if other != name]
                fields.refuse(row, unknown_contig([name, *other_names], genome.names))
            starts[rows], lengths[rows] = genome.starts[contigs], genome.lengths[contigs]
        return starts, lengths


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
        self.source = source
        self.labels = LabelColumn(source)
        self.organisms, self.splits = NameTable("organism"), NameTable("split")
        self.clear()

    def clear(self) -> None:
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
