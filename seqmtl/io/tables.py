"""Read windows: of a table (organism, label, sequence, optionally split and name) or others."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import check_distinct
from seqmtl.exceptions import InputFormatError, ParameterError
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
    site: int | None = None,
) -> Windows:
    """Read labelled windows from a table, a FASTA file, or a dataset of ``seqmtl dataset``.

    The header of a tab-separated table names the columns, in any order: ``sequence``, ``label``
    (1 or +1; -1 or 0 for negatives), ``organism``, and optionally ``split``, ``name`` and
    ``site`` (its first base in the sequence, 0-based); others are ignored. The file is read in
    blocks, and only the bases kept stay in memory, one byte each. All rows are checked, whether
    kept or not. For FASTA see :func:`read_fasta_windows`, for datasets :func:`read_dataset`.
    Strings in memory are for :meth:`Windows.from_strings`.

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
    site : int, optional
        First base of the site in every sequence of a table or FASTA file (0-based); overrides the
        column ``site``, or ``site=`` in the headers. It must be at one base of the windows kept.

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
        If `path` is a sequence of strings, or `site` is given for a dataset, which has its own.

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
        raise ParameterError(f"must be 1 or more, got {window}; leave it out for all", "window")
    if is_dataset(path):
        if site is not None:
            raise ValueError(f"site is known of a dataset, got {site}; leave it out")
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
            path, window=window, organism=organism, require_labels=require_labels, site=site
        )
    reader = _Reader(path, window, split, organism, require_labels, site=site)
    return reader.read()


def read_windows_around(
    path: PathLike,
    *,
    window: int,
    base: int,
    split: str | None = None,
    organism: str | None = None,
    require_labels: bool = True,
) -> Windows:
    """Read windows of a table or FASTA file for a model.

    Sequences with a stated site are cut to `window` bases with the site at base `base`, and padded
    with N. Others are cut as by :func:`read_windows`; if all have one length below `window`, they
    are returned uncut.

    Parameters
    ----------
    path, split, organism, require_labels
        See :func:`read_windows`.
    window : int
        Bases of the model's windows.
    base : int
        First base of its site in them (0-based).

    Raises
    ------
    InputFormatError
        As :func:`read_windows`, or if sequences without a stated site are shorter than others.
    """
    if guess_format(path) == "fasta":
        return read_fasta_windows(
            path, window=window, organism=organism, require_labels=require_labels, base=base
        )
    return _Reader(path, window, split, organism, require_labels, base=base).read()


def read_windows_in_parts(
    path: PathLike,
    n: int,
    *,
    window: int | None = None,
    split: str | None = None,
    organism: str | None = None,
    site: int | None = None,
) -> Iterator[Windows]:
    """Yield the labelled windows of a table, about n at a time; see :func:`read_windows`."""
    reader = _Reader(path, window, split, organism, True, site=site)
    n_parts = 0
    for block in reader.blocks:
        reader.add(block)
        if len(reader.codes) >= n * (reader.length or 1):
            yield reader.windows()
            reader.clear()
            n_parts += 1
    if reader.codes or not n_parts:
        yield reader.windows()


def is_table_of_windows(path: PathLike) -> bool:
    """Return whether a file is a table for :func:`read_windows`, by its header.

    Such a table is text with the tab-separated columns ``organism`` and ``sequence``. Standard
    input is not consumed.
    """
    header = first_bytes(path).lstrip().partition(b"\n")[0]
    return {b"organism", b"sequence"} <= {name.strip() for name in header.split(b"\t")}


class _Reader:
    """Reader of a table.

    With `base`, windows are cut for a model, see :func:`read_windows_around`; else `site` is the
    site of all sequences.
    """

    def __init__(
        self,
        path: PathLike,
        window: int | None,
        split: str | None,
        organism: str | None,
        require_labels: bool,
        *,
        site: int | None = None,
        base: int | None = None,
    ) -> None:
        self.source = source_name(path)
        self.window = window
        self.split = split
        self.organism = organism
        header, line, self.blocks = pop_header(line_blocks(path), lambda line: bool(line.strip()))
        required = ["sequence"] + ["label"] * require_labels + ["organism"] * (organism is None)
        self.columns = find_columns(header, line, required, self.source)
        self.n_columns = header.count(b"\t") + 1
        self.n_rows = 0
        self.window_columns = WindowColumns(self.source)
        self.clear()
        self.split_counts: Counter[int] = Counter()
        self.length = window
        self.first_length: tuple[int, int] | None = None
        self.site = site
        self.base = base
        self.has_site = site is not None or "site" in self.columns
        self.first_site: tuple[int, int] | None = None

    def read(self) -> Windows:
        """Read all rows."""
        for block in self.blocks:
            self.add(block)
        return self.windows()

    def clear(self) -> None:
        """Drop the rows read so far."""
        self.codes = bytearray()
        self.n_before = self.n_rows
        self.window_columns.clear()
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
        first_bases = self._first_bases(fields)
        labels = np.zeros(len(fields), dtype=np.int8)
        if "label" in self.columns:
            labels = self.window_columns.labels.parse(fields, self.columns["label"])
        chosen: slice | NDArray[np.int64] = slice(None)
        splits = None
        if "split" in self.columns:
            splits = self.window_columns.splits.encode(fields, self.columns["split"])
            self.split_counts.update(dict(enumerate(np.bincount(splits).tolist())))
            if self.split is not None:
                split_id = self.window_columns.splits.number(self.split)
                chosen = np.flatnonzero(splits == split_id)
        rows = np.arange(self.n_rows, self.n_rows + len(fields))
        self.window_columns.add(chosen, labels=labels, splits=splits, rows=rows)
        self.n_rows += len(fields)
        fields = fields.rows(chosen)
        self.codes += self._cut(encoded, fields, first_bases[chosen]).reshape(-1).data
        if self.organism is None:
            tasks = self.window_columns.organisms.encode(fields, self.columns["organism"])
            self.window_columns.add(slice(None), task_ids=tasks)
        if "name" in self.columns:
            self.names += fields.strings(self.columns["name"])

    def _first_bases(self, fields: Fields) -> NDArray[np.int64]:
        """Return the first base of each sequence to keep; negative if N is added before it."""
        lengths = fields.lengths(self.columns["sequence"])
        width = self.length or 0
        first_bases = (lengths - width) // 2
        if not self.has_site:
            return first_bases
        sites = np.full(len(fields), self.site)
        if self.site is None:
            sites = fields.integers(self.columns["site"], "site (its first base, 0-based)")
        outside = np.flatnonzero(sites >= lengths)
        if outside.size:
            row = int(outside[0])
            fields.refuse(
                row,
                f"site must be a base of the sequence, 0 to {lengths[row] - 1}, got {sites[row]}; "
                "correct it",
            )
        if self.base is not None:
            return sites - self.base
        bases = sites - first_bases
        if self.first_site is None:
            self.first_site = int(bases[0]), int(fields.lines[0])
        base, line = self.first_site
        differs = np.flatnonzero((bases != base) | (bases < 0) | (bases >= width))
        if differs.size:
            row = int(differs[0])
            rule = f"at base {base} as on line {line}"
            fields.refuse(
                row,
                f"the site must be {'inside the window' if bases[row] == base else rule}, got base "
                f"{bases[row]} of the {width} bases kept; cut the sequences to the same length "
                "around it, or take another window",
            )
        return first_bases

    def _cut(
        self, encoded: NDArray[np.uint8], fields: Fields, first_bases: NDArray[np.int64]
    ) -> NDArray[np.uint8]:
        """Cut the windows, with N for what lies outside a sequence, shape (n, window)."""
        column = self.columns["sequence"]
        width = self.length or 0
        begins, lengths = fields.begins(column), fields.lengths(column)
        if not self.has_site or self.base is None:
            return cut(encoded, begins + first_bases, width)
        letters = cut(np.pad(encoded, width), begins + first_bases + width, width)
        positions = first_bases[:, np.newaxis] + np.arange(width)
        letters[(positions < 0) | (positions >= lengths[:, np.newaxis])] = OTHER
        return letters

    def _check_letters(self, fields: Fields) -> None:
        column = self.columns["sequence"]
        n_special = fields.n_special[:, column]
        if n_special.any():
            row = int((n_special > 0).argmax())
            text = fields.string(row, column)
            position = next(
                i for i, letter in enumerate(text) if CHECKED_CODES[min(ord(letter), 255)] > OTHER
            )
            fields.refuse(
                row,
                f"sequence must be of IUPAC nucleotide letters, got {text[position]!r} at letter "
                f"{position + 1}; correct the sequence",
            )

    def _check_lengths(self, fields: Fields) -> None:
        lengths = fields.lengths(self.columns["sequence"])
        if self.base is not None:
            if self.has_site:
                return
            if not self.n_rows and lengths[0] < (self.window or 0):
                self.window = None  # all are shorter than the model's windows
        if self.window is not None:
            too_short = np.flatnonzero(lengths < self.window)
            if too_short.size:
                whose = "window's"
                remedy = "choose a smaller window or leave the row out"
                if self.base is not None:
                    whose = "model's"
                    remedy = "add a column site, its first base (0-based)"
                fields.refuse(
                    int(too_short[0]),
                    f"sequence must have at least the {whose} {self.window} bases, "
                    f"got {lengths[too_short[0]]}; {remedy}",
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
        """Return all windows of the chosen rows."""
        if not self.n_rows:
            raise InputFormatError(
                "the table must have rows, but it has only a header; check how it was written",
                path=self.source,
            )
        if not self.codes:
            counts = sorted(self.split_counts.items())
            splits = ", ".join(
                f"{self.window_columns.splits.names[i]} ({count:,} rows)" for i, count in counts
            )
            raise InputFormatError(
                f"must be one of the column's values, {splits}, got {self.split!r}; "
                "choose one of them",
                path=self.source,
                option="split",
            )
        organisms = self.window_columns.organisms
        check_distinct(organisms.names, self.source, organisms.lines)
        codes = np.frombuffer(self.codes, dtype=np.uint8)
        width = self.length or 0
        n = codes.size // width
        columns = self.window_columns.arguments()
        columns["starts"] = np.arange(n, dtype=np.int64) * width
        if self.has_site:
            columns["site"] = self.base if self.first_site is None else self.first_site[0]
        if self.organism is not None:
            columns["task_names"] = (self.organism,)
        if "name" in self.columns:
            columns["names"] = self.names
        else:
            rows = self.window_columns.joined("rows") if n < self.n_rows else None
            columns["locator"] = RowNames(width, rows)
        n_rows = self.n_rows - self.n_before
        logger.info("%s: kept %d of %d rows, %d bases each", self.source, n, n_rows, width)
        return Windows(codes, length=width, **columns)
