"""Windows of intervals of a genome (BED), with intervals drawn from the genome as negatives."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, source_name
from seqmtl.io.fasta import cut_window, one_length
from seqmtl.io.tsv import read_rows
from seqmtl.sequences import Genome, Windows, reverse_complement
from seqmtl.sequences.background import draw_background
from seqmtl.sequences.windows import UNNAMED, pad_codes

logger = logging.getLogger(__name__)


class Peaks(NamedTuple):
    """Intervals of a genome.

    Attributes
    ----------
    source : str
        Name of the file.
    contigs : ndarray of int64, shape (n,)
        Number of the contig in the genome.
    begins, lengths : ndarray of int64, shape (n,)
        First base on the contig, 0-based, and bases.
    is_reverse : ndarray of bool, shape (n,)
        Whether an interval is on the minus strand.
    """

    source: str
    contigs: NDArray[np.int64]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]

    @property
    def longest(self) -> int:
        """Bases of the longest interval."""
        return int(self.lengths.max())


def read_peaks(path: PathLike, genome: Genome) -> Peaks:
    """Read BED of three columns or more; intervals without a strand are on the plus strand.

    Raises
    ------
    InputFormatError
        If a row is no interval inside a contig of the genome, or there is none.
    """
    lengths = dict(zip(genome.names, genome.lengths.tolist(), strict=True))
    rows, n_scores_0 = [], 0
    for row in read_rows(path):
        row.check_columns(3, "BED must have contig, start and end between tabs")
        contig, start, end = row.interval(lengths)
        strand = row.strand(5, unknown=".") if len(row.fields) > 5 else "."
        rows.append((genome.index(contig), start, end - start, strand == "-"))
        n_scores_0 += len(row.fields) > 4 and row.fields[4].strip() == "0"
    if not rows:
        raise InputFormatError("there must be intervals (BED), but there are none", str(path))
    if 0 < n_scores_0 < len(rows):
        logger.warning(
            "%s: %d of %d intervals have a score of 0, as decoys have in BED of sites; scores are "
            "not read here: put negatives into a file of their own (--negatives)",
            source_name(path),
            n_scores_0,
            len(rows),
        )
    contigs, begins, sizes, strands = np.array(rows, dtype=np.int64).T.copy()
    return Peaks(source_name(path), contigs, begins, sizes, strands > 0)


def draw_negatives(peaks: Peaks, genome: Genome, seed: int) -> Peaks:
    """Draw an interval like each, see :func:`seqmtl.sequences.background.draw_background`.

    Those for which there is none are counted in a warning.

    Raises
    ------
    InputFormatError
        If there is none for any.
    """
    starts = genome.starts[peaks.contigs] + peaks.begins
    drawn = draw_background(genome, starts, peaks.lengths, np.random.default_rng(seed))
    is_drawn = drawn >= 0
    n, n_lost = drawn.size, int((~is_drawn).sum())
    if n_lost == n:
        raise InputFormatError(
            "there must be intervals of the same lengths and share of G and C elsewhere on the "
            "contigs, but there are none; give negatives, too",
            peaks.source,
        )
    if n_lost:
        logger.warning(
            "%s: for %d of %d intervals there is no other of the same length and share of G and C "
            "on their contigs; there are fewer negatives",
            peaks.source,
            n_lost,
            n,
        )
    return Peaks(
        peaks.source,
        peaks.contigs[is_drawn],
        (drawn - genome.starts[peaks.contigs])[is_drawn],
        peaks.lengths[is_drawn],
        peaks.is_reverse[is_drawn],
    )


def windows_of_peaks(
    peaks: Peaks,
    genome: Genome,
    *,
    window: int | None = None,
    organism: str | None = None,
    label: int = 0,
    pad: bool = False,
) -> Windows:
    """Return the bases of intervals, in reading direction.

    Parameters
    ----------
    peaks : Peaks
        Intervals.
    genome : Genome
        Their genome.
    window : int, optional
        Take so many bases around the centre, with N beyond the ends of contigs: from
        ``(length - window) // 2``. Default: the intervals.
    organism : str, optional
        Organism of all.
    label : int
        Label of all.
    pad : bool
        Whether intervals may differ in length; shorter ones are padded with N at their end.

    Returns
    -------
    Windows
        Named ``contig:start-end(strand)``, by the interval.

    Raises
    ------
    InputFormatError
        If the lengths differ, without `window` or `pad`.
    MemoryLimitError
        If the padded windows do not fit into memory.
    """
    lengths = peaks.lengths
    if window is None and not pad and (lengths != lengths[0]).any():
        raise InputFormatError(
            f"intervals must have equal lengths, got {lengths.min()} to {lengths.max()} bases; "
            f"{one_length(int(lengths.min()))}",
            peaks.source,
        )
    used = lengths if window is None else np.full_like(lengths, window)
    codes, names = bytearray(), []
    columns = (peaks.contigs, peaks.begins, lengths, used, peaks.is_reverse)
    for number, begin, n, n_used, is_reverse in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        contig = genome.names[number]
        names.append(f"{contig}:{begin}-{begin + n}({'-' if is_reverse else '+'})")
        left = (n - n_used) // 2
        first = begin + (n - n_used - left if is_reverse else left)
        cut = np.frombuffer(cut_window(genome.contig(contig), first, n_used), dtype=np.uint8)
        codes += reverse_complement(cut).tobytes() if is_reverse else cut.tobytes()
    length = int(used.max())
    longest = f"{peaks.source}, {names[int(used.argmax())]}"
    return Windows(
        pad_codes(codes, used, length, longest),
        np.arange(len(names), dtype=np.int64) * length,
        length,
        labels=np.full(len(names), label, dtype=np.int8),
        task_names=(organism or UNNAMED,),
        names=names,
        is_padded=bool((used != length).any()),
    )
