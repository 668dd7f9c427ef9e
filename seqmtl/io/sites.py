"""Read virtual windows around the sites in a BED file or a table of positions."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import NameIndex, match_names
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, line_blocks, source_name
from seqmtl.io.bed import true_by_score
from seqmtl.io.tsv import (
    BED,
    Columns,
    LabelColumn,
    NameColumn,
    Row,
    as_number,
    find_columns,
    is_row,
    is_row_of_table,
    pop_row,
    read_columns,
)
from seqmtl.sequences import Genome, Windows
from seqmtl.sequences.sites import window_starts

logger = logging.getLogger(__name__)

_SCORE, _STRAND, _BED_COLUMNS = 4, 5, 6
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
    source = source_name(path)
    blocks = line_blocks(path)
    first, after = pop_row(blocks, source, is_row)
    if first is None:
        raise InputFormatError(
            "the file must hold sites, but it is empty; check how it was written", path=source
        )
    reader = _SiteReader(first, genome, organism, require_labels)
    if reader.is_bed:
        reader.add(Columns(source, [first.line], first.fields))
    is_row_of_file = is_row if reader.is_bed else is_row_of_table
    for rows in read_columns(after, source, len(first.fields), is_row_of_file):
        reader.add(rows)
    return reader.windows(window, drop=contig_ends == "drop")


class _SiteReader:
    """Reader of sites, row by row.

    Parameters
    ----------
    first : Row
        The first row, which distinguishes BED from a table.
    genome, organism, require_labels
        See :func:`read_sites`.
    """

    def __init__(
        self, first: Row, genome: Genome, organism: str | None, require_labels: bool
    ) -> None:
        self._source = first.source
        self._genome = genome
        self._organism = organism
        names = [name.strip() for name in first.fields]
        has_number = any(name.isdigit() for name in names)
        self.is_bed = has_number or not {"contig", "position", "strand"} & set(names)
        if self.is_bed:
            _check_bed(first)
            self._columns = {"strand": _STRAND}
            self._interval = BED
        else:
            required = ["contig", "position", "strand"] + ["label"] * require_labels
            columns = self._columns = find_columns(first, required)
            self._interval = columns["contig"], columns["position"], columns.get("end")
        self._labels = LabelColumn(first.source)
        self._organisms = NameColumn("organism", self._columns.get("organism", -1))
        self._splits = NameColumn("split", self._columns.get("split", -1))
        self._wanted = NameIndex([organism or ""])
        self._lengths = dict(zip(genome.names, genome.lengths.tolist(), strict=True))
        self._n_skipped = 0
        self._parts: dict[str, list[NDArray[Any]]] = {}

    def add(self, rows: Columns) -> None:
        """Add the sites of a block of rows, but for those of other organisms."""
        columns = self._columns
        block: dict[str, NDArray[Any]] = {}
        if "organism" in columns:
            task_ids = self._organisms.numbers(rows)
            if self._organism is not None:
                is_wanted = np.array([*map(self._is_wanted, self._organisms.names)])[task_ids]
                self._n_skipped += int((~is_wanted).sum())
                if not is_wanted.any():
                    return
                rows, task_ids = rows.take(is_wanted), task_ids[is_wanted]
            block["task_ids"] = task_ids
        contigs, block["begins"], block["ends"] = rows.intervals(
            self._lengths, self._interval, "site"
        )
        block["contigs"] = self._genome.indices(contigs)
        block["is_reverse"] = rows.is_reverse(columns["strand"])
        if self.is_bed:
            block["scores"] = np.array([*map(as_number, rows.texts(_SCORE))])
        elif "label" in columns:
            block["labels"] = self._labels.signs(rows, columns["label"])
        if "split" in columns:
            block["splits"] = self._splits.numbers(rows)
        for name, column in block.items():
            self._parts.setdefault(name, []).append(column)

    def _is_wanted(self, organism: str) -> bool:
        return bool(self._wanted.find(organism))

    def windows(self, length: int, *, drop: bool) -> Windows:
        """Return the windows, and log the counts.

        Parameters
        ----------
        length : int
            Bases of a window.
        drop : bool
            Whether to leave those out that extend beyond their contig.
        """
        if not self._parts:
            self._refuse_empty()
        names = self._organisms.names
        if self._organism is not None:
            wanted = [*filter(self._is_wanted, names)]
            match_names(wanted, [self._organism], self._source)
        else:
            self._organisms.check_organisms(self._source)
        sites = {name: np.concatenate(part) for name, part in self._parts.items()}
        begins, ends, is_reverse = sites["begins"], sites["ends"], sites["is_reverse"]
        starts = window_starts(begins, ends, is_reverse, length)
        excess = np.maximum(-starts, starts + length - self._genome.lengths[sites["contigs"]])
        chosen = excess <= 0 if drop else np.ones(starts.size, dtype=np.bool_)
        if not drop and excess.max() > self._genome.padding:
            raise ValueError(
                f"genome must be loaded with padding of {excess.max()} or more for this window, "
                f"got {self._genome.padding}; load it with padding={length}"
            )
        columns: dict[str, Any] = {"locator": self._genome.locator}
        if self._organism:
            columns["task_names"] = (self._organism,)
        elif "organism" in self._columns:
            columns["task_names"] = names
            columns["task_ids"] = sites["task_ids"][chosen]
        if "split" in self._columns:
            columns["splits"] = sites["splits"][chosen]
        bases = np.unique(np.where(is_reverse, starts + length - ends, begins - starts))
        if bases.size == 1 and 0 <= bases[0] < length:
            columns["site"] = int(bases[0])
        labels = self._label_column(sites)[chosen]
        logger.info(
            "%s: %d sites (%d true, %d decoys); %d windows padded with N, "
            "%d dropped at contig ends, %d of other organisms skipped",
            self._source,
            begins.size,
            int((labels > 0).sum()),
            int((labels < 0).sum()),
            0 if drop else int((excess > 0).sum()),
            int((excess > 0).sum()) if drop else 0,
            self._n_skipped,
        )
        return Windows(
            self._genome.codes,
            (starts + self._genome.starts[sites["contigs"]])[chosen],
            length,
            is_reverse=is_reverse[chosen],
            labels=labels,
            split_names=self._splits.names,
            **columns,
        )

    def _label_column(self, sites: dict[str, NDArray[Any]]) -> NDArray[np.int8]:
        """Return labels; for BED the signs of the scores, if there are both, else +1."""
        if self.is_bed:
            return np.where(true_by_score(sites["scores"]), 1, -1).astype(np.int8)
        return sites.get("labels", np.zeros(sites["begins"].size, dtype=np.int8))

    def _refuse_empty(self) -> NoReturn:
        message = "the table must have rows, but it has only a header; check how it was written"
        if self._n_skipped:
            message = (
                f"organism must be one of the column's ({', '.join(self._organisms.names)}), "
                f"got {self._organism!r}; choose one of them"
            )
        raise InputFormatError(message, path=self._source)


def _check_bed(first: Row) -> None:
    n_columns = len(first.fields)
    if n_columns < _BED_COLUMNS:
        remedy = "add name, score and strand (+ or -)"
        if n_columns == 1:
            remedy = "separate columns by tabs; a table has a header with contig, position, strand"
        if first.fields[0].startswith(">"):
            remedy = "this looks like FASTA"
        first.refuse(f"BED must have at least six columns, got {n_columns}; {remedy}")
