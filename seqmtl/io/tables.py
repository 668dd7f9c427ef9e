"""Read windows: of a table (organism, label, sequence, optionally split and name) or others."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import check_distinct
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import (
    PAD_BYTES,
    Lines,
    PathLike,
    first_bytes,
    line_blocks,
    pop_header,
    source_name,
)
from seqmtl.io.columns import WindowColumns
from seqmtl.io.dataset import is_dataset, read_dataset
from seqmtl.io.fasta import guess_format, read_fasta_windows
from seqmtl.io.fields import Fields, cut, find_columns, split_fields
from seqmtl.sequences import RowNames, Windows
from seqmtl.sequences.alphabet import CHECKED_CODES, OTHER

logger = logging.getLogger(__name__)


def read_windows(
    path: PathLike,
    *,
    window: int | None = None,
    split: str | None = None,
    organism: str | None = None,
    require_labels: bool = True,
) -> Windows:
    """Read labelled windows from a table, a FASTA file, or a dataset of ``seqmtl dataset``.

    The header of a tab-separated table names the columns, in any order: ``sequence``, ``label`` (1
    or +1; -1 or 0 for negatives), ``organism``, and optionally ``split`` and ``name``; others are
    ignored. The file is read in blocks, and only the bases kept stay in memory, one byte each. All
    rows are checked, whether kept or not. For FASTA see :func:`read_fasta_windows`, for datasets
    :func:`read_dataset`. Strings in memory are for :meth:`Windows.from_strings`.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, folder of a dataset, or ``"-"`` for standard input.
    window : int, optional
        Keep the central `window` bases, from ``(length - window) // 2`` (0-based); sequences may
        then differ in length. Default: whole sequences, which must have equal lengths.
    split : str, optional
        Keep only the rows with this value in the column ``split``, or this split of a dataset:
        train, valid or test. Without such a column all rows are kept.
    organism : str, optional
        Organism of all rows; overrides the column.
    require_labels : bool
        Whether the column ``label`` is required. Without it labels are 0.

    Returns
    -------
    Windows
        Labels +1 and -1. Names are those of the column ``name``, or else 0-based row numbers.
        Organisms are numbered in order of appearance in the rows kept.

    Raises
    ------
    InputFormatError
        If the file is not such a table, or two names of organisms mean the same one; the message
        gives the file and the 1-based line.
    ValueError
        If `path` is a sequence of strings.

    Examples
    --------
    >>> windows = read_windows("data.tsv.gz", window=141, split="train")  # doctest: +SKIP
    >>> windows = read_windows("donors", split="train")  # doctest: +SKIP
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(
            f"path must be a file or the folder of a dataset, got {type(path).__name__}; for "
            "strings use Windows.from_strings(sequences, labels, tasks)"
        )
    if window is not None and window < 1:
        raise ValueError(f"window must be 1 or more, got {window}; leave it out for all")
    if is_dataset(path):
        windows = read_dataset(path, split=split, organism=organism).windows
        return windows if window is None else windows.center(window)
    if os.path.isdir(path):
        raise InputFormatError(
            "a folder must be a dataset with windows.tsv and summary.json; make one with seqmtl "
            "dataset, or name a file",
            path=os.fspath(path),
        )
    if guess_format(path) == "fasta":
        return read_fasta_windows(
            path, window=window, organism=organism, require_labels=require_labels
        )
    reader = _Reader(path, window, split, organism, require_labels)
    for block in reader.blocks:
        reader.add(block)
    return reader.windows()


def read_windows_in_parts(
    path: PathLike,
    n: int,
    *,
    window: int | None = None,
    split: str | None = None,
    organism: str | None = None,
) -> Iterator[Windows]:
    """Yield the labelled windows of a table, about n at a time; see :func:`read_windows`."""
    reader, n_parts = _Reader(path, window, split, organism, True), 0
    for block in reader.blocks:
        reader.add(block)
        if len(reader.codes) >= n * (reader.length or 1):
            yield reader.windows()
            reader.forget()
            n_parts += 1
    if reader.codes or not n_parts:
        yield reader.windows()


def is_table_of_windows(path: PathLike) -> bool:
    """Tell by its header whether a file is a table for :func:`read_windows`.

    Such a table is text with the tab-separated columns ``organism`` and ``sequence``. Standard
    input is not consumed.
    """
    header = first_bytes(path).lstrip().partition(b"\n")[0]
    return {b"organism", b"sequence"} <= {name.strip() for name in header.split(b"\t")}


class _Reader:
    """State of reading a table."""

    def __init__(
        self,
        path: PathLike,
        window: int | None,
        split: str | None,
        organism: str | None,
        require_labels: bool,
    ) -> None:
        self.source = source_name(path)
        self.window, self.wanted_split, self.organism = window, split, organism
        header, line, self.blocks = pop_header(line_blocks(path), lambda line: bool(line.strip()))
        wanted = ["sequence"] + ["label"] * require_labels + ["organism"] * (organism is None)
        self.columns = find_columns(header, line, wanted, self.source)
        self.n_columns = header.count(b"\t") + 1
        self.n_rows = 0
        self.found = WindowColumns(self.source)
        self.forget()
        self.split_counts: Counter[int] = Counter()
        self.length = window
        self.first_length: tuple[int, int] | None = None

    def forget(self) -> None:
        """Drop the rows read so far."""
        self.codes = bytearray()
        self.n_before = self.n_rows
        self.found.forget()
        self.names: list[str] = []

    def add(self, block: Lines) -> None:
        """Check the rows of a block, and keep those of the requested split."""
        encoded = np.frombuffer(block.text.translate(CHECKED_CODES), dtype=np.uint8)
        special = np.flatnonzero(encoded[:-PAD_BYTES] > OTHER)
        fields = split_fields(block, self.n_columns, self.source, special=special)
        if not len(fields):
            return
        self._check_letters(fields)
        self._check_lengths(fields)
        labels = np.zeros(len(fields), dtype=np.int8)
        if "label" in self.columns:
            labels = self.found.labels.parse(fields, self.columns["label"])
        chosen: slice | NDArray[np.int64] = slice(None)
        splits = None
        if "split" in self.columns:
            splits = self.found.splits.encode(fields, self.columns["split"])
            self.split_counts.update(dict(enumerate(np.bincount(splits).tolist())))
            if self.wanted_split is not None:
                wanted = self.found.splits.number(self.wanted_split)
                chosen = np.flatnonzero(splits == wanted)
        rows = np.arange(self.n_rows, self.n_rows + len(fields))
        self.found.add(chosen, labels=labels, splits=splits, rows=rows)
        self.n_rows += len(fields)
        fields = fields.rows(chosen)
        column, width = self.columns["sequence"], self.length or 0
        begins = fields.begins(column) + (fields.lengths(column) - width) // 2
        self.codes += cut(encoded, begins, width).reshape(-1).data
        if self.organism is None:
            tasks = self.found.organisms.encode(fields, self.columns["organism"])
            self.found.add(slice(None), task_ids=tasks)
        if "name" in self.columns:
            self.names += fields.strings(self.columns["name"])

    def _check_letters(self, fields: Fields) -> None:
        column = self.columns["sequence"]
        strays = fields.strays[:, column]
        if strays.any():
            row = int((strays > 0).argmax())
            text = fields.string(row, column)
            place = next(
                i for i, letter in enumerate(text) if CHECKED_CODES[min(ord(letter), 255)] > OTHER
            )
            fields.refuse(
                row,
                f"sequence must be of IUPAC nucleotide letters, got {text[place]!r} at letter "
                f"{place + 1}; correct the sequence",
            )

    def _check_lengths(self, fields: Fields) -> None:
        lengths = fields.lengths(self.columns["sequence"])
        if self.window is not None:
            short = np.flatnonzero(lengths < self.window)
            if short.size:
                fields.refuse(
                    int(short[0]),
                    f"sequence must have at least the window's {self.window} bases, "
                    f"got {lengths[short[0]]}; choose a smaller window or leave the row out",
                )
            return
        if self.first_length is None:
            self.first_length = int(lengths[0]), int(fields.lines[0])
            self.length = int(lengths[0])
        expected, line = self.first_length
        other = np.flatnonzero((lengths != expected) | (lengths == 0))
        if other.size:
            row = int(other[0])
            if lengths[row] == 0:
                fields.refuse(row, "sequence must not be empty; fill the field")
            fields.refuse(
                row,
                f"sequences must have equal lengths, got {lengths[row]} bases here and {expected} "
                f"on line {line}; cut them to the same length, or give a window (at most "
                f"{min(int(lengths[row]), expected)}) to take the centre of each",
            )

    def windows(self) -> Windows:
        """Return all windows that were kept."""
        if not self.n_rows:
            raise InputFormatError(
                "the table must have rows, but it has only a header; check how it was written",
                path=self.source,
            )
        if not self.codes:
            counts = sorted(self.split_counts.items())
            found = ", ".join(
                f"{self.found.splits.names[i]} ({count:,} rows)" for i, count in counts
            )
            raise InputFormatError(
                f"split must be one of the column's values, {found}, got {self.wanted_split!r}; "
                "choose one of them",
                path=self.source,
            )
        organisms = self.found.organisms
        check_distinct(organisms.names, self.source, organisms.lines)
        codes = np.frombuffer(self.codes, dtype=np.uint8)
        width = self.length or 0
        n = codes.size // width
        columns = self.found.arguments()
        columns["starts"] = np.arange(n, dtype=np.int64) * width
        if self.organism is not None:
            columns["task_names"] = (self.organism,)
        if "name" in self.columns:
            columns["names"] = self.names
        else:
            rows = self.found.joined("rows") if n < self.n_rows else None
            columns["locator"] = RowNames(width, rows)
        n_rows = self.n_rows - self.n_before
        logger.info("%s: kept %d of %d rows, %d bases each", self.source, n, n_rows, width)
        return Windows(codes, length=width, **columns)
