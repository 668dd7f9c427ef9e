"""Write the results of a scan as a stream; memory does not grow with the genome."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from seqmtl._checks import check_choice
from seqmtl._threads import in_order
from seqmtl.exceptions import ScanInterrupted, SeqmtlError
from seqmtl.files.atomic import is_special
from seqmtl.files.bgzip import write_index
from seqmtl.files.streams import Output
from seqmtl.io.genome import ContigPiece
from seqmtl.scan.bed import BedSink
from seqmtl.scan.bedgraph import BedgraphSink
from seqmtl.scan.bigwig import BigwigSink
from seqmtl.scan.blocks import Block, cut_blocks
from seqmtl.scan.filters import TOP_BASES, Probability
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.gff3 import GffSink
from seqmtl.scan.hints import HintSink
from seqmtl.scan.run import Recovery, Run
from seqmtl.scan.sink import Sink, TextSink, Track
from seqmtl.scan.spsc import SpliceScoreSink
from seqmtl.scan.summary import BlockCounts, ScanSummary

#: Site starts scanned and formatted at a time; divides the bins of the best sites.
BLOCK = 250_000

_TEXT: dict[str, type[TextSink]] = {
    "bed": BedSink,
    "bedgraph": BedgraphSink,
    "gff3": GffSink,
    "spsc": SpliceScoreSink,
    "hints": HintSink,
}
#: Suffixes of every format.
SUFFIXES = {
    "bigwig": (".bw", ".bigwig"),
    "bedgraph": (".bedgraph", ".bg", ".bdg"),
    "bed": (".bed",),
    "gff3": (".gff3", ".gff"),
    "spsc": (".spsc", ".tsv"),
    "hints": (".hints",),
}
FORMATS = tuple(SUFFIXES)

_log = logging.getLogger(__name__)


class Done(NamedTuple):
    """A scored block, formatted for every file, with its counts."""

    parts: list[Any]
    counts: BlockCounts
    n_starts: int


#: Does the work with each of the blocks, and yields what it returns in their order.
Runs = Callable[[Callable[[Block], Done], Iterable[Block]], Iterator[Done]]


def write_scan(  # noqa: PLR0913
    output: Output,
    pieces: Iterable[ContigPiece],
    finder: SiteFinder,
    *,
    file_format: str | None = None,
    probability: Probability | None = None,
    track: Track | None = None,
    progress: Callable[[int], None] | None = None,
    recovery: Recovery | None = None,
    runs: Runs = in_order,
) -> ScanSummary:
    """Scan a genome and write the sites, by contig and start, plus before minus.

    BED and GFF3 have one line per site, with its letters, raw score and, if known, probability.
    bedGraph has one value at the first base of the site's interval on the forward strand, the
    larger one if both strands have a site there. bigWig has the same values in one file per
    strand, with raw scores rounded to 1/8192. spsc has integer splice scores for aligners, see
    :mod:`seqmtl.scan.spsc`; hints has hints for AUGUSTUS, see :mod:`seqmtl.scan.hints`.

    Parameters
    ----------
    output : path-like or binary stream
        A file is named ``OUTPUT.partial`` until it is complete, with side files of that name and
        another suffix. A name in ``.gz`` is compressed in blocks (bgzip), which every gzip reader
        accepts and tabix can index. See :func:`output_paths` for bigWig.
    pieces : iterable of ContigPiece
        Contigs, whole or in consecutive pieces, which may overlap.
    finder : SiteFinder
        What to score and report.
    file_format : str, optional
        One of `FORMATS`. Default: by the suffix of `output`; without one BED.
    probability : callable, optional
        Converts raw scores, float64, to probabilities; must not decrease.
    track : Track, optional
        What the file describes besides the scores.
    progress : callable, optional
        Called with the number of site starts processed since the last call.
    recovery : Recovery, optional
        Keeps a journal, and keeps partial output if the scan is interrupted.
    runs : callable
        Calls a function with each of many blocks, and yields the results in their order. Default:
        on the threads of this context.

    Returns
    -------
    ScanSummary

    Raises
    ------
    SeqmtlError
        If the output cannot be written, or the model does not support the format.
    ValueError
        If the format is unknown, or pieces are not consecutive.
    """
    file_format = guess_format(output) if file_format is None else file_format
    check_choice("file_format", file_format, FORMATS)
    sinks = make_sinks(output, file_format, finder, probability, track or Track())
    size = BLOCK if finder.filters.top is None else TOP_BASES
    work = partial(_scan_block, finder=finder, sinks=sinks)
    summary = write_blocks(
        output, partial(cut_blocks, pieces, finder, size), sinks, work,
        progress=progress, recovery=recovery, runs=runs,
    )  # fmt: skip
    for sink in sinks:
        index_file(sink.path, file_format, summary.longest_contig)
    _warn(summary, finder.scanner.length)
    return summary


def write_blocks(
    output: Output,
    blocks: Callable[[ScanSummary], Iterator[Block]],
    sinks: Sequence[Sink],
    work: Callable[[Block], Done],
    *,
    progress: Callable[[int], None] | None,
    recovery: Recovery | None,
    runs: Runs,
) -> ScanSummary:
    """Scan a genome block by block, and write the results in order.

    `blocks` cuts the genome and counts contigs, and `work` formats a block for every sink. The
    other parameters are those of :func:`write_scan`.
    """
    summary = ScanSummary()
    run = Run(output, sinks, summary, recovery)
    try:
        n_done = run.begin()
        left = (block for block in blocks(summary) if block.number >= n_done)
        for done in runs(work, left):
            run.add(done.parts, done.counts)
            if progress is not None:
                progress(done.n_starts)
        run.finish()
    except BaseException as error:
        if run.stop(error) and isinstance(error, KeyboardInterrupt):
            raise ScanInterrupted(
                "interrupted; finished parts are kept, and the same command with --resume "
                "resumes the scan"
            ) from error
        raise
    return summary


def guess_format(output: Output) -> str:
    """Return the format of a file name; "bed" if the name has no suffix.

    Raises
    ------
    ValueError
        If no format has this suffix.
    """
    name = _name(output).lower().removesuffix(".gz")
    found = [kind for kind, suffixes in SUFFIXES.items() if name.endswith(suffixes)]
    if not found and os.path.splitext(name)[1]:
        known = " ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
        raise ValueError(
            f"the suffix must be one of {known} (or of these and .gz), got {output}; or name the "
            "format (--format)"
        )
    return found[0] if found else "bed"


def output_paths(output: str, file_format: str, strands: str) -> list[str]:
    """Return the files of a scan: OUT.plus.bw and OUT.minus.bw for bigWig of both strands."""
    if file_format != "bigwig" or strands != "both":
        return [output]
    stem, suffix = os.path.splitext(output)
    return [f"{stem}.plus{suffix}", f"{stem}.minus{suffix}"]


def make_sinks(
    output: Output,
    file_format: str,
    finder: SiteFinder,
    probability: Probability | None,
    track: Track,
) -> list[Sink]:
    """Return a sink for each file of a scan of one signal."""
    name = _name(output)
    if file_format != "bigwig":
        return [_TEXT[file_format](name, finder, probability, track)]
    if not name or is_special(name):
        raise SeqmtlError("bigWig needs a seekable output; name a file")
    if name.endswith(".gz"):
        raise SeqmtlError(f"bigWig is already compressed; name it without .gz, got {name}")
    strands = "+-" if finder.strands == "both" else finder.strands
    paths = output_paths(name, file_format, finder.strands)
    return [
        BigwigSink(path, finder, probability, track, strand=strand)
        for path, strand in zip(paths, strands, strict=True)
    ]


def _scan_block(block: Block, finder: SiteFinder, sinks: Sequence[Sink]) -> Done:
    """Score and format one block; runs in a worker thread."""
    strands = finder.find_strands(block.piece, block.first, block.last)
    parts = [sink.prepare(block, strands) for sink in sinks]
    return Done(parts, BlockCounts.of(strands), block.last - block.first)


def _name(output: Output) -> str:
    return "" if hasattr(output, "write") else os.fspath(output)


def index_file(path: str, file_format: str, longest: int) -> None:
    """Write the index of a bgzip file, if pysam is installed."""
    preset = {"bed": "bed", "bedgraph": "bed", "gff3": "gff"}.get(file_format)
    if preset is None or not path.endswith(".gz") or not os.path.isfile(path):
        return
    try:
        write_index(path, preset, longest)
    except ImportError as error:
        _log.info("%s: no index was written: %s", path, error)


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
