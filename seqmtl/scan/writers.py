"""Write a scan as BED or bedGraph while it runs; memory does not grow with the genome."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import IO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.atomic import atomic_write
from seqmtl.io.bgzip import BGZIP_END, bgzip
from seqmtl.io.genome import ContigPiece
from seqmtl.scan._text_kernels import NUMBER_BYTES, bed_lines, bedgraph_lines
from seqmtl.scan.sites import SiteBlock, SiteFinder

#: Bases of a contig that are scanned and formatted at a time.
BLOCK = 1 << 19

_DECIMALS = 5
_LINES = 1 << 15  # formatted at a time

Output = str | os.PathLike[str] | IO[bytes]
Probability = Callable[[NDArray[np.float64]], NDArray[np.float64]]
_log = logging.getLogger(__name__)


@dataclass
class ScanSummary:
    """What a scan went through.

    Attributes
    ----------
    n_contigs, n_bases : int
        Contigs read and their bases.
    n_scored : int
        Windows scored, both strands counted.
    n_records : int
        Lines written, the header aside.
    n_mixed : int
        Windows scored that hold a letter other than A, C, G, T.
    short_contigs : list of str
        Contigs shorter than a window; nothing is reported on them.
    """

    n_contigs: int = 0
    n_bases: int = 0
    n_scored: int = 0
    n_records: int = 0
    n_mixed: int = 0
    short_contigs: list[str] = field(default_factory=list)


class _Job(NamedTuple):
    piece: ContigPiece
    first: int
    last: int


class _Run(NamedTuple):
    """Bases of equal value, a line of a bedGraph."""

    contig: str
    start: int
    end: int
    value: float

    def joins(self, other: _Run) -> bool:
        """Tell whether the other run goes on where this one ends."""
        return self == other._replace(start=self.start, end=self.end) and self.end == other.start


class _Done(NamedTuple):
    """A scored block: its text, and the first and last run of a bedGraph that are not in it."""

    parts: list[bytes]
    edges: list[_Run]
    n_records: int
    n_scored: int
    n_mixed: int
    n_bases: int


def write_scan(
    output: Output,
    pieces: Iterable[ContigPiece],
    finder: SiteFinder,
    *,
    file_format: str | None = None,
    probability: Probability | None = None,
    progress: Callable[[int], None] | None = None,
) -> ScanSummary:
    """Scan a genome and write the sites.

    BED: contig, start, end, name, score, strand, raw_score and, if known, probability. Start and
    end are the site's interval on the forward strand, 0-based half-open; the name is its letters
    in reading direction; the score is 1000 times the probability, or the logistic function of the
    raw score where there is none. Sorted by start within a contig, plus before minus.

    bedGraph: one value per site, at the first base of its interval on the forward strand; where
    sites of both strands share it, the larger of the two. Neighbours of equal value are joined.

    Parameters
    ----------
    output : path-like or binary stream
        A file appears under its path when it is whole; a name in ``.gz`` is compressed in blocks
        (bgzip), which every gzip reader takes and tabix can index.
    pieces : iterable of ContigPiece
        Contigs, whole or in pieces that overlap by ``finder.overlap`` bases, one after the other.
    finder : SiteFinder
        What to score and to report.
    file_format : {"bed", "bedgraph"}, optional
        Default: by the name of `output`, BED where it does not tell.
    probability : callable, optional
        Turns raw scores, float64, into probabilities; it must not decrease.
    progress : callable, optional
        Called with the number of bases done since the last call.

    Returns
    -------
    ScanSummary

    Raises
    ------
    SeqmtlError
        If the output cannot be written; nothing is left behind.
    ValueError
        If the format is not known, or pieces do not follow one another as they should.
    """
    file_format = guess_format(output) if file_format is None else file_format
    if file_format not in ("bed", "bedgraph"):
        raise ValueError(f"file_format must be 'bed' or 'bedgraph', got {file_format!r}")
    summary = ScanSummary()
    is_packed = _name(output).endswith(".gz")
    pack: Callable[[bytes], bytes] = bgzip if is_packed else bytes
    work = partial(
        _scan_block, finder=finder, file_format=file_format, probability=probability, pack=pack
    )
    blocks = finder.scanner.run(work, _jobs(pieces, finder, summary))
    with _open(output) as stream:
        stream.write(pack(_header(finder, file_format, probability is not None).encode()))
        stream.writelines(_collect(blocks, summary, pack, progress))
        if is_packed:
            stream.write(BGZIP_END)
    _warn(summary, finder.scanner.length)
    return summary


def guess_format(output: Output) -> str:
    """Return ``"bedgraph"`` for names in .bedgraph, .bedGraph, .bg or .bdg, else ``"bed"``."""
    name = _name(output).lower().removesuffix(".gz")
    return "bedgraph" if name.endswith((".bedgraph", ".bg", ".bdg")) else "bed"


def merge_values(
    sites: SiteBlock,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return starts, ends and values of disjoint intervals: the best score at each start.

    Starts that follow each other and have the same score become one interval.
    """
    starts, values = sites.starts, sites.scores.copy()
    twice = np.flatnonzero(starts[1:] == starts[:-1])
    values[twice] = np.maximum(values[twice], values[twice + 1])
    starts, values = np.delete(starts, twice + 1), np.delete(values, twice + 1)
    if starts.size == 0:
        return starts, starts, values
    changes = (np.diff(starts) != 1) | (values[1:] != values[:-1])
    heads = np.concatenate([[0], np.flatnonzero(changes) + 1])
    tails = np.concatenate([heads[1:], [starts.size]]) - 1
    return starts[heads], starts[tails] + 1, values[heads]


def _jobs(
    pieces: Iterable[ContigPiece], finder: SiteFinder, summary: ScanSummary
) -> Iterator[_Job]:
    """Cut pieces into blocks, check that they are complete, and count on the way."""
    name, expected = "", 0
    for piece in pieces:
        if piece.start != expected or (expected and piece.name != name):
            raise ValueError(
                f"pieces of a contig must follow in order and overlap by {finder.overlap} bases, "
                f"got {piece.name!r} from {piece.start}; read them with this overlap"
            )
        end = piece.start + piece.codes.size
        name, expected = piece.name, 0 if piece.is_last else end - finder.overlap
        if piece.is_last:
            summary.n_contigs += 1
            summary.n_bases += end
            if end < finder.scanner.length:
                summary.short_contigs.append(name)
        for first, last in finder.blocks(piece, BLOCK):
            yield _Job(piece, first, last)


def _scan_block(
    job: _Job,
    finder: SiteFinder,
    file_format: str,
    probability: Probability | None,
    pack: Callable[[bytes], bytes],
) -> _Done:
    """Score and format one block; runs in a worker thread."""
    sites = finder.find(job.piece, job.first, job.last)
    edges: list[_Run] = []
    if file_format == "bed":
        n_records = sites.starts.size
        parts = _format_bed(job.piece, sites, finder.scanner.site_length, probability)
    else:
        starts, ends, values = merge_values(sites)
        for i in (0, -1)[: min(starts.size, 2)]:
            edges.append(_Run(job.piece.name, int(starts[i]), int(ends[i]), float(values[i])))
        inner = slice(1, -1)
        n_records = starts[inner].size
        parts = _format_bedgraph(job.piece.name, starts[inner], ends[inner], values[inner])
    parts = [pack(part) for part in parts]
    return _Done(parts, edges, n_records, sites.n_scored, sites.n_mixed, job.last - job.first)


def _collect(
    blocks: Iterable[_Done],
    summary: ScanSummary,
    pack: Callable[[bytes], bytes],
    progress: Callable[[int], None] | None,
) -> Iterator[bytes]:
    """Yield the text of all blocks, with runs of a bedGraph joined over their borders."""
    held: _Run | None = None
    for block in blocks:
        ready: list[_Run] = []
        if block.edges:
            first, *others = block.edges
            if held is not None and held.joins(first):
                first = first._replace(start=held.start)
            elif held is not None:
                ready.append(held)
            *inner, held = [first, *others]
            ready += inner
        yield from (pack(_run_line(run)) for run in ready)
        yield from block.parts
        summary.n_records += len(ready) + block.n_records
        summary.n_scored += block.n_scored
        summary.n_mixed += block.n_mixed
        if progress is not None:
            progress(block.n_bases)
    if held is not None:
        yield pack(_run_line(held))
        summary.n_records += 1


def _run_line(run: _Run) -> bytes:
    """Write one run by the same kernel as all others, so that it is rounded alike."""
    starts, ends = np.array([run.start]), np.array([run.end])
    return _format_bedgraph(run.contig, starts, ends, np.array([run.value], dtype=np.float32))[0]


def _format_bed(
    piece: ContigPiece, sites: SiteBlock, site_length: int, probability: Probability | None
) -> list[bytes]:
    scores = sites.scores.astype(np.float64)
    n_lines = min(_LINES, scores.size)
    p = 1.0 / (1.0 + np.exp(-np.clip(scores, -50, 50)))
    printed = np.zeros(0)
    if probability is not None:
        p = printed = np.asarray(probability(scores), dtype=np.float64)
    heights = np.rint(1000 * p).astype(np.int64)
    contig = np.frombuffer(piece.name.encode(), dtype=np.uint8)
    source = (contig, piece.start, piece.codes)
    buffer = np.empty(n_lines * (contig.size + site_length + 5 * NUMBER_BYTES), dtype=np.uint8)
    parts = []
    for first in range(0, scores.size, _LINES):
        part = slice(first, first + _LINES)
        columns = (sites.starts[part], scores[part], sites.is_reverse[part])
        size = bed_lines(
            source, site_length, columns, heights[part], printed[part], _DECIMALS, buffer
        )
        parts.append(buffer[:size].tobytes())
    return parts


def _format_bedgraph(
    name: str, starts: NDArray[np.int64], ends: NDArray[np.int64], values: NDArray[np.float32]
) -> list[bytes]:
    contig = np.frombuffer(name.encode(), dtype=np.uint8)
    n_lines = min(_LINES, starts.size)
    buffer = np.empty(n_lines * (contig.size + 3 * NUMBER_BYTES), dtype=np.uint8)
    parts = []
    for first in range(0, starts.size, _LINES):
        part = slice(first, first + _LINES)
        size = bedgraph_lines(contig, starts[part], ends[part], values[part], _DECIMALS, buffer)
        parts.append(buffer[:size].tobytes())
    return parts


def _header(finder: SiteFinder, file_format: str, has_probability: bool) -> str:
    """Say in comment lines what the columns are and which base is the site."""
    scanner = finder.scanner
    asked = [f"strands {finder.strands}"]
    if finder.consensus is not None:
        asked.append(f"consensus {','.join(finder.consensus)}")
    if finder.threshold is not None:
        asked.append(f"raw score >= {finder.threshold:g}")
    lines = [
        f"# seqmtl scan: windows of {scanner.length} bases, {', '.join(asked)}",
        f"# site: {scanner.site_length} base(s) from offset {scanner.site_offset} of the window in "
        "reading direction; coordinates 0-based half-open on the forward strand",
    ]
    if file_format == "bedgraph":
        lines.append("# value: largest raw score of the sites whose interval begins at this base")
    else:
        extra = "\tprobability" if has_probability else ""
        lines.append(f"#contig\tstart\tend\tname\tscore\tstrand\traw_score{extra}")
    return "\n".join(lines) + "\n"


@contextmanager
def _open(output: Output) -> Iterator[IO[bytes]]:
    if hasattr(output, "write"):
        yield cast(IO[bytes], output)
    else:
        with atomic_write(output, "wb") as stream:
            yield stream


def _name(output: Output) -> str:
    return "" if hasattr(output, "write") else os.fspath(output)


def _warn(summary: ScanSummary, length: int) -> None:
    short = summary.short_contigs
    if short:
        _log.warning(
            "%d of %d contigs are shorter than a window of %d bases and were not scanned: %s",
            len(short),
            summary.n_contigs,
            length,
            ", ".join(short[:5]) + (", ..." if len(short) > 5 else ""),
        )
