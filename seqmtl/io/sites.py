"""Read virtual windows around the sites in a BED file or a table of positions."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import chain
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import NameIndex, check_distinct, match_names
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import (
    PAD_BYTES,
    Lines,
    PathLike,
    line_blocks,
    pop_header,
    readable,
    source_name,
)
from seqmtl.io.columns import IntervalColumns, WindowColumns
from seqmtl.io.fields import Fields, find_columns, split_fields
from seqmtl.io.rows import is_row
from seqmtl.sequences import Genome, Windows
from seqmtl.sequences.sites import window_starts

logger = logging.getLogger(__name__)

_BED = {"contig": 0, "position": 1, "end": 2, "score": 4, "strand": 5}
_BED_COLUMNS = 6
_CONTIG_ENDS = ("pad", "drop")


def read_sites(
    path: PathLike,
    genome: Genome,
    *,
    window: int,
    organism: str | None = None,
    contig_ends: str = "pad",
    require_labels: bool = True,
) -> Windows:
    """Read sites as windows into a genome, at most 14 bytes each, without copying the sequence.

    A **BED** file has at least six columns: contig, start, end (0-based half-open), name, score,
    strand. Lines that begin with ``#``, ``track`` or ``browser`` are skipped. If the scores are
    numbers and both positive and non-positive ones occur, sites with positive scores are true
    (+1) and the others decoys (-1); otherwise all sites are true (+1).

    A **table** has a header with ``contig``, ``position`` (0-based), ``strand``, ``label`` and
    optionally ``end`` (half-open; default ``position + 1``, a site of one base), ``organism`` and
    ``split``. On both strands `position` is the site's lowest coordinate.

    With c the middle of a site and L the window length, the window of a plus-strand site starts at
    ``floor(c) - L // 2``, and that of a minus-strand site ends at ``ceil(c) + L // 2``, its mirror
    image. In reading direction a site of one base is at window offset ``L // 2``, one of two bases
    at ``L // 2 - 1`` and ``L // 2``. The windows know it if all sites have the same length.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.
    genome : Genome
        Genome of the sites.
    window : int
        Window length in bases.
    organism : str, optional
        Organism of the sites. In a table with that column, rows of other organisms are skipped.
        Default: the column, or ``"task"``.
    contig_ends : {"pad", "drop"}
        Whether to pad windows that extend beyond the contig with N, or to drop them.
    require_labels : bool
        Whether a table must have the column ``label``. Without it labels are 0.

    Returns
    -------
    Windows
        In the order of the file, named ``contig:start-end(strand)`` after the window. A message
        of the log counts the sites read, padded, dropped and skipped.

    Raises
    ------
    InputFormatError
        If the file is neither, or a site is not in the genome; the message gives file and line.
    ValueError
        If the genome's padding is too small for windows at contig ends.
    """
    if window < 1:
        raise ValueError(f"window must be 1 or more, got {window}")
    if contig_ends not in _CONTIG_ENDS:
        raise ValueError(f"contig_ends must be 'pad' or 'drop', got {contig_ends!r}")
    reader = _Reader(path, genome, window, organism, contig_ends == "drop")
    for block in reader.blocks(require_labels):
        reader.add(block)
    return reader.result()


class _Reader:
    """State of reading a file of sites."""

    def __init__(
        self, path: PathLike, genome: Genome, window: int, organism: str | None, drop: bool
    ) -> None:
        self.path = path
        self.source = source_name(path)
        self.genome = genome
        self.window = window
        self.organism = organism
        self.drop = drop
        self.columns: dict[str, int] = {}
        self.n_columns = _BED_COLUMNS
        self.is_bed = self.scores_are_numbers = True
        self.window_columns = WindowColumns(self.source)
        self.n_sites = self.n_padded = self.n_dropped = self.n_skipped = 0
        self.bases: set[int] = set()  # first bases of the sites in their windows

    def blocks(self, require_labels: bool) -> Iterator[Lines]:
        """Return the blocks of rows; the first line distinguishes BED from a table."""
        first, line, remainder = pop_header(line_blocks(self.path), is_row)
        if not first:
            self._refuse("the file must hold sites, but it is empty; check how it was written")
        names = [name.strip() for name in readable(first).split("\t")]
        self.n_columns = len(names)
        has_number = any(name.isdigit() for name in names)
        self.is_bed = has_number or not {"contig", "position", "strand"} & set(names)
        if self.is_bed:
            if self.n_columns < _BED_COLUMNS:
                self._refuse_bed(first, line)
            self.columns = dict(_BED)
            remainder = chain([Lines(first + b"\n" + bytes(PAD_BYTES), line)], remainder)
        else:
            required = ["contig", "position", "strand"] + ["label"] * require_labels
            self.columns = find_columns(first, line, required, self.source)
        start = "start" if self.is_bed else "position"
        self.intervals = IntervalColumns([self.genome], self.columns, start)
        return remainder

    def _refuse(self, message: str, line: int | None = None) -> NoReturn:
        raise InputFormatError(message, path=self.source, line=line)

    def _refuse_bed(self, first: bytes, line: int) -> NoReturn:
        remedy = "add name, score and strand (+ or -)"
        if self.n_columns == 1:
            remedy = "separate columns by tabs; a table has a header with contig, position, strand"
        if first.startswith(b">"):
            remedy = "this looks like FASTA"
        self._refuse(f"BED must have at least six columns, got {self.n_columns}; {remedy}", line)

    def add(self, block: Lines) -> None:
        """Convert the sites of a block to windows."""
        fields = split_fields(
            block, self.n_columns, self.source, is_comment=lambda line: not is_row(line)
        )
        if "organism" in self.columns and len(fields):
            fields = self._of_organism(fields)
        if not len(fields):
            return
        self.n_sites += len(fields)
        intervals = self.intervals.parse(fields)
        labels = self._labels(fields)
        starts = window_starts(intervals.begins, intervals.ends, intervals.is_reverse, self.window)
        offsets_reverse = starts + self.window - intervals.ends
        self.bases.update(
            np.where(intervals.is_reverse, offsets_reverse, intervals.begins - starts).tolist()
        )
        inside = (starts >= 0) & (starts + self.window <= intervals.contig_lengths)
        n_outside = int(inside.size - inside.sum())
        if self.drop:
            self.n_dropped += n_outside
        else:
            self.n_padded += n_outside
            self._check_padding(starts, intervals.contig_lengths)
        chosen = inside if self.drop else np.ones_like(inside)
        self.window_columns.add(
            chosen,
            starts=starts + intervals.contig_starts,
            is_reverse=intervals.is_reverse,
            labels=labels,
        )
        for column, names in (
            ("splits", self.window_columns.splits),
            ("task_ids", self.window_columns.organisms),
        ):
            column_index = self.columns.get(names.what)
            if column_index is not None and (names.what != "organism" or self.organism is None):
                self.window_columns.add(chosen, **{column: names.encode(fields, column_index)})

    def _of_organism(self, fields: Fields) -> Fields:
        ids = self.window_columns.organisms.encode(fields, self.columns["organism"])
        if self.organism is None:
            return fields
        ids_of_organism = [
            self.window_columns.organisms.number(name) for name in self._matching_names()
        ]
        chosen = np.flatnonzero(np.isin(ids, ids_of_organism))
        self.n_skipped += len(fields) - chosen.size
        return fields.rows(chosen)

    def _matching_names(self) -> list[str]:
        """Return the names in the column that mean the wanted organism."""
        index = NameIndex([self.organism or ""])
        return [name for name in self.window_columns.organisms.names if index.find(name)]

    def _labels(self, fields: Fields) -> NDArray[np.int8]:
        """Return labels; for BED the signs of the scores, interpreted when all rows are read."""
        if not self.is_bed:
            if "label" in self.columns:
                return self.window_columns.labels.parse(fields, self.columns["label"])
            return np.zeros(len(fields), dtype=np.int8)
        if self.scores_are_numbers:
            scores = fields.numbers(_BED["score"], "score")
            self.scores_are_numbers = bool(np.isfinite(scores).all())
            if self.scores_are_numbers:
                return np.where(scores > 0, 1, -1).astype(np.int8)
        return np.ones(len(fields), dtype=np.int8)

    def _check_padding(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        over = np.maximum(-starts, starts + self.window - lengths)
        if over.max() > self.genome.padding:
            raise ValueError(
                f"genome must be loaded with padding of {over.max()} or more for this window, "
                f"got {self.genome.padding}; load it with padding={self.window}"
            )

    def result(self) -> Windows:
        """Return the windows, and tell the counts."""
        names = self.window_columns.organisms
        if not self.n_sites and self.n_skipped:
            self._refuse(
                f"organism must be one of the column's ({', '.join(names.names)}), "
                f"got {self.organism!r}; choose one of them"
            )
        if not self.n_sites:
            self._refuse(
                "the table must have rows, but it has only a header; check how it was written"
            )
        if self.organism is not None:
            match_names(self._matching_names(), [self.organism], self.source)
        else:
            check_distinct(names.names, self.source, names.lines)
        columns = self.window_columns.arguments()
        if self.organism:
            columns["task_names"] = (self.organism,)
        columns["locator"] = self.genome.locator
        if len(self.bases) == 1 and 0 <= min(self.bases) < self.window:
            columns["site"] = min(self.bases)
        windows = Windows(self.genome.codes, length=self.window, **columns)
        labels = windows.labels
        if self.is_bed and (not self.scores_are_numbers or not (labels > 0).any()):
            labels[:] = 1
        by_label = int((labels > 0).sum()), int((labels < 0).sum())
        logger.info(
            "%s: %d sites (%d true, %d decoys); %d windows padded with N, "
            "%d dropped at contig ends, %d of other organisms skipped",
            self.source,
            self.n_sites,
            *by_label,
            self.n_padded,
            self.n_dropped,
            self.n_skipped,
        )
        return windows
