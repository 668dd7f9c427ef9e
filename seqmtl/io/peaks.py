"""Windows of intervals of a genome (BED), with intervals drawn from the genome as negatives."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, source_name
from seqmtl.io.tables import one_length
from seqmtl.io.tsv import Row, as_number, is_coordinate, read_rows
from seqmtl.sequences import Genome, Windows, reverse_complement
from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.background import draw_background
from seqmtl.sequences.intervals import merge_intervals, overlap
from seqmtl.sequences.windows import UNNAMED, pad_codes

logger = logging.getLogger(__name__)

_COLUMNS_OF_NARROWPEAK = 10


class Peaks(NamedTuple):
    """Intervals of a genome, and the windows that are read of them.

    Attributes
    ----------
    source : str
        Name of the file.
    contigs : ndarray of int64, shape (n,)
        Number of the contig in the genome.
    intervals : ndarray of int64, shape (n, 2)
        First base on the contig, 0-based, and the base after the last.
    is_reverse : ndarray of bool, shape (n,)
        Whether an interval is on the minus strand.
    begins, lengths : ndarray of int64, shape (n,)
        First base of the window on its contig, and bases there.
    n_before, sizes : ndarray of int64, shape (n,)
        Bases of the window before the contig begins, which are N, and those of the whole window.
    """

    source: str
    contigs: NDArray[np.int64]
    intervals: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]
    n_before: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Peaks:
        """Return some of the intervals."""
        columns = self._asdict()
        del columns["source"]
        return Peaks(self.source, **{name: column[rows] for name, column in columns.items()})

    def names(self, genome: Genome) -> list[str]:
        """Return ``contig:start-end(strand)`` of every interval."""
        return [
            f"{genome.names[contig]}:{start}-{end}({'-' if is_reverse else '+'})"
            for contig, (start, end), is_reverse in zip(
                self.contigs.tolist(),
                self.intervals.tolist(),
                self.is_reverse.tolist(),
                strict=True,
            )
        ]

    def covered(self, genome: Genome) -> NDArray[np.int64]:
        """Return what intervals and windows cover of the buffer of the genome, merged."""
        windows = np.column_stack([self.begins, self.begins + self.lengths])
        firsts = genome.starts[self.contigs][:, np.newaxis]
        return merge_intervals(np.concatenate([firsts + self.intervals, firsts + windows]))


def read_peaks(
    path: PathLike,
    genome: Genome,
    window: int | None = None,
    *,
    once: bool = False,
) -> Peaks:
    """Read BED of three columns or more; intervals without a strand are on the plus strand.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file.
    genome : Genome
        The genome.
    window : int, optional
        Take so many bases around the summit, in narrowPeak, or else around the centre: from
        ``(length - window) // 2``. Default: the intervals.
    once : bool
        Whether windows that are repeated are left out, and counted in a warning.

    Raises
    ------
    InputFormatError
        If a row is no interval inside a contig of the genome, there is none, or the file is of a
        kind whose first base is 1.
    """
    source = source_name(path)
    table, offsets, n_scores_0, _ = _read_rows(path, genome)
    n = len(table)
    if 0 < n_scores_0 < n:
        logger.warning(
            "%s: %d of %d intervals have a score of 0, as decoys have in BED of sites; scores are "
            "not read here: put negatives into a file of their own (--negatives)",
            source,
            n_scores_0,
            n,
        )
    if window is not None:
        longest = int(genome.lengths.max())
        if window > longest:
            raise InputFormatError(
                f"windows must be at most as long as the longest contig of the genome, {longest} "
                f"bases, got {window}; take a shorter window, or check that it is the right genome",
                source,
            )
        _log_middles(table, offsets, window, source)
    peaks = _windows_around(source, table, offsets, window, genome)
    if n_beyond := int((peaks.lengths < peaks.sizes).sum()):
        logger.warning(
            "%s: %d of %d windows extend beyond their contig, and are N there", source, n_beyond, n
        )
    return _once(peaks, window) if once else peaks


def read_avoided(path: PathLike, genome: Genome, window: int | None) -> Peaks:
    """Read BED of intervals that are avoided; those on contigs that the genome lacks are left out.

    Raises
    ------
    InputFormatError
        As :func:`read_peaks`, or if there are intervals on such contigs only.
    """
    table, offsets, _, n_other = _read_rows(path, genome, has_others=True)
    if n_other:
        logger.info(
            "%s: %d of %d intervals are on contigs that the genome lacks, and are not needed",
            source_name(path),
            n_other,
            n_other + len(table),
        )
    return _windows_around(source_name(path), table, offsets, window, genome)


def _read_rows(
    path: PathLike, genome: Genome, *, has_others: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    """Read BED: contig, start, end and strand, shape (n, 4), and the offset of every summit.

    The offset is -1 without a summit, and one that is beyond its interval stays as it is. Returned
    are also the numbers of scores of 0, but for narrowPeak, and of intervals on other contigs, if
    `has_others`.
    """
    source = source_name(path)
    lengths = dict(zip(genome.names, genome.lengths.tolist(), strict=True))
    rows, n_scores_0, n_other, n_from_1 = [], 0, 0, 0
    summits = list[int | None]()
    for row in read_rows(path):
        _check_kind(row, lengths)
        if has_others and row.fields[0] not in lengths:
            n_other += 1
            continue
        contig, start, end = row.interval(lengths)
        rows.append((genome.index(contig), start, end, _is_reverse(row)))
        summits.append(_summit(row.fields))
        n_scores_0 += len(row.fields) > 4 and row.fields[4].strip() == "0"
        n_from_1 += row.fields[3:4] == [str(end - start + 1)]
    if not rows:
        where = ", but they are all on contigs that the genome lacks" if n_other else ""
        raise InputFormatError(
            f"there must be intervals (BED){where or ', but there are none'}", source
        )
    if n_from_1 == len(rows) > 1:
        raise InputFormatError(
            "starts of BED must count from 0, but column 4 of all rows is end - start + 1, so they "
            "count from 1; subtract 1: awk -v OFS='\\t' '{$2 -= 1} 1'",
            source,
        )
    is_narrow = None not in summits
    offsets = np.array(summits if is_narrow else [-1] * len(rows), dtype=np.int64)
    return np.array(rows, dtype=np.int64), offsets, 0 if is_narrow else n_scores_0, n_other


def _check_kind(row: Row, contigs: dict[str, int]) -> None:
    """Refuse a row that is not BED, such as a header, or one of a table of MACS, HOMER, SAF or GFF.

    Raises
    ------
    InputFormatError
        If so.
    """
    fields = row.fields
    if len(fields) < 3:
        remedy = "correct the line"
        if len(fields[0].split()) >= 3:
            remedy = "this line has blanks: replace them, such as with tr -s ' ' '\\t'"
        row.check_columns(3, "BED must have contig, start and end between tabs", remedy)
    if fields[0] in contigs and is_coordinate(fields[1]) and is_coordinate(fields[2]):
        return
    if is_coordinate(fields[1]) and is_coordinate(fields[2]) and fields[1] not in contigs:
        return
    row.refuse(
        f"BED must have contig, start and end (from 0) and no header, got "
        f"{', '.join(map(repr, fields[:3]))}; remove a header, give the .narrowPeak of MACS, or "
        "reorder the columns of HOMER, SAF and GFF, and subtract 1 from their starts"
    )


def _is_reverse(row: Row) -> bool:
    """Return whether a row of BED is on the minus strand."""
    strand = row.fields[5] if len(row.fields) > 5 else "."
    if strand not in ("+", "-", ".", "*"):
        row.refuse(
            f"strand must be +, - or . (column 6 of BED), got {strand[:60]!r}; correct it, or keep "
            "the first columns only: cut -f1-3"
        )
    return strand == "-"


def _summit(fields: list[str]) -> int | None:
    """Return the offset of the summit in a row of narrowPeak, -1 if it has none; else None."""
    if len(fields) != _COLUMNS_OF_NARROWPEAK:
        return None
    numbers, offset = [as_number(field) for field in fields[6:9]], fields[9].strip()
    if np.isnan(numbers).any() or not (offset == "-1" or is_coordinate(offset)):
        return None
    return int(offset)


def _log_middles(
    table: NDArray[np.int64], offsets: NDArray[np.int64], window: int, source: str
) -> None:
    """Log around what windows are cut, and warn of summits that are beyond their interval."""
    n, n_summits = len(table), int((offsets >= 0).sum())
    n_beyond = int((offsets >= table[:, 2] - table[:, 1]).sum())
    if n_beyond:
        logger.warning(
            "%s: column 10 of %d of %d rows is beyond the interval, so it is not taken for the "
            "summit of narrowPeak",
            source,
            n_beyond,
            n,
        )
    where = "the centres of the intervals"
    if n_summits and not n_beyond:
        where = "the summits (column 10 of narrowPeak)"
        if n_summits < n:
            where += f", and the centres of {n - n_summits} without one"
    logger.info("%s: %d windows of %d bases around %s", source, n, window, where)


def _windows_around(
    source: str,
    table: NDArray[np.int64],
    offsets: NDArray[np.int64],
    window: int | None,
    genome: Genome,
) -> Peaks:
    """Return intervals with windows around their summits, if all have them inside, or centres."""
    contigs, is_reverse = table[:, 0], table[:, 3] > 0
    firsts, lengths = table[:, 1], table[:, 2] - table[:, 1]
    sizes = lengths
    if window is not None:
        is_summit = (offsets >= 0) & bool((offsets < lengths).all())
        firsts, lengths = firsts + offsets * is_summit, np.where(is_summit, 1, lengths)
        sizes = np.full_like(lengths, window)
    left = (lengths - sizes) // 2
    firsts = firsts + np.where(is_reverse, lengths - sizes - left, left)
    begins = np.maximum(firsts, 0)
    ends = np.minimum(firsts + sizes, genome.lengths[contigs])
    intervals, n_before = table[:, 1:3], begins - firsts
    return Peaks(source, contigs, intervals, is_reverse, begins, ends - begins, n_before, sizes)


def _once(peaks: Peaks, window: int | None) -> Peaks:
    """Return windows, each once, and count the others in a warning."""
    firsts = peaks.begins - peaks.n_before
    columns = np.column_stack([peaks.contigs, firsts, peaks.sizes, peaks.is_reverse])
    rows = np.sort(np.unique(columns, axis=0, return_index=True)[1])
    n = len(columns)
    if rows.size < n:
        logger.warning(
            "%s: %d of %d intervals are repeated (%s), as after MACS with --call-summits, or of a "
            "file that was joined with itself; each counts once",
            peaks.source,
            n - rows.size,
            n,
            "contig, start, end and strand" if window is None else "the same window",
        )
    return peaks.take(rows)


def draw_negatives(
    peaks: Peaks, genome: Genome, seed: int, others: list[Peaks] | None = None
) -> Peaks:
    """Draw a window like each and off all, see :func:`seqmtl.sequences.background.draw_background`.

    What windows have beyond the end of their contig is N in those that are drawn, too. Those for
    which there is none are counted in a warning.

    Parameters
    ----------
    peaks : Peaks
        The positives.
    genome : Genome
        Their genome.
    seed : int
        Seed of the drawing.
    others : list of Peaks, optional
        Further intervals and windows that are avoided.

    Raises
    ------
    InputFormatError
        If there is none for any.
    """
    starts = genome.starts[peaks.contigs] + peaks.begins
    # only the windows, so that negatives are the same for summits as for the intervals around them
    windows = np.column_stack([starts, starts + peaks.lengths])
    avoided = np.concatenate([windows, *(each.covered(genome) for each in others or ())])
    rng = np.random.default_rng(seed)
    drawn = draw_background(genome, starts, peaks.lengths, merge_intervals(avoided), rng)
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
    begins = drawn - genome.starts[peaks.contigs]
    intervals = np.column_stack([begins, begins + peaks.lengths])
    return peaks._replace(begins=begins, intervals=intervals).take(is_drawn)


def windows_of_peaks(
    peaks: Peaks,
    genome: Genome,
    *,
    organism: str | None = None,
    label: int = 0,
    pad: bool = False,
) -> Windows:
    """Return the bases of the windows, in reading direction, with N beyond the ends of contigs.

    Parameters
    ----------
    peaks : Peaks
        Intervals and their windows.
    genome : Genome
        Their genome.
    organism : str, optional
        Organism of all.
    label : int
        Label of all.
    pad : bool
        Whether windows may differ in length; shorter ones are padded with N at their end.

    Returns
    -------
    Windows
        Named ``contig:start-end(strand)``, by the interval.

    Raises
    ------
    InputFormatError
        If the lengths differ, without `pad`.
    MemoryLimitError
        If the windows do not fit into memory.
    """
    sizes, names = peaks.sizes, peaks.names(genome)
    if not pad and (sizes != sizes[0]).any():
        raise InputFormatError(
            f"intervals must have equal lengths, got {sizes.min()} to {sizes.max()} bases; "
            f"{one_length(int(sizes.min()))}",
            peaks.source,
        )
    length = int(sizes.max())
    longest = f"{peaks.source}, {names[int(sizes.argmax())]}"
    what = f"{len(names)} windows of up to {length} bases ({longest})"
    require_memory(float(sizes.sum()), what, "take a shorter --window, or leave the longest out")
    codes = np.full(int(sizes.sum()), OTHER, dtype=np.uint8)
    n_after = sizes - peaks.n_before - peaks.lengths
    places = np.cumsum(sizes) - sizes + np.where(peaks.is_reverse, n_after, peaks.n_before)
    starts = genome.starts[peaks.contigs] + peaks.begins
    columns = places, starts, peaks.lengths, peaks.is_reverse
    for place, start, n, is_reverse in zip(*(each.tolist() for each in columns), strict=True):
        cut = genome.codes[start : start + n]
        codes[place : place + n] = reverse_complement(cut) if is_reverse else cut
    return Windows(
        pad_codes(codes, sizes, length, longest),
        np.arange(len(names), dtype=np.int64) * length,
        length,
        labels=np.full(len(names), label, dtype=np.int8),
        task_names=(organism or UNNAMED,),
        names=names,
        is_padded=bool((sizes != length).any()),
    )


def n_overlapping(peaks: Peaks, others: Peaks, genome: Genome) -> int:
    """Return how many windows overlap intervals or windows of others."""
    starts = genome.starts[peaks.contigs] + peaks.begins
    return int(overlap(starts, peaks.lengths, others.covered(genome)).sum())
