"""Write the results of a scan as a stream; memory does not grow with the genome."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import IO, Any, NamedTuple

from seqmtl._checks import check_choice
from seqmtl._threads import in_order, run_all
from seqmtl.exceptions import UsageError
from seqmtl.files.bgzip import index_packed, open_packed
from seqmtl.files.streams import Output
from seqmtl.files.write import is_special
from seqmtl.io.genome import ContigPiece
from seqmtl.scanning.blocks import Block, Finder, cut_blocks, join_contigs
from seqmtl.scanning.filters import BlockCounts, ScanSummary
from seqmtl.scanning.formats import (
    BedgraphSink,
    BedSink,
    BigwigSink,
    GffSink,
    HintSink,
    LikelyBedSink,
    SpliceScoreSink,
)
from seqmtl.scanning.introns import IntronSink
from seqmtl.scanning.sink import Sink, Track

#: Class that writes each format.
SINKS: dict[str, type[Sink]] = {
    "bigwig": BigwigSink,
    "bedgraph": BedgraphSink,
    "bed": BedSink,
    "gff3": GffSink,
    "spsc": SpliceScoreSink,
    "hints": HintSink,
    "introns": IntronSink,
}
FORMATS = (*SINKS, "all")
#: Suffixes that name a format.
SUFFIXES = {name: sink.suffixes for name, sink in SINKS.items() if sink.suffixes}

_log = logging.getLogger(__name__)


class BlockResult(NamedTuple):
    """A scored block, formatted for every sink, with its counts."""

    parts: list[Any]
    counts: BlockCounts
    n_starts: int


def write_scan(
    output: Output,
    pieces: Iterable[ContigPiece],
    finder: Finder,
    *,
    file_format: str | None = None,
    track: Track | None = None,
    progress: Callable[[int], None] | None = None,
) -> ScanSummary:
    """Scan a genome and write the sites, by contig and start, plus before minus.

    BED and GFF3 have one line per site, with its letters, raw score and, if known, probability.
    bedGraph has one value at the first base of the site's interval on the forward strand, the
    larger one if both strands have a site there. bigWig has the same values in one file per
    strand, with raw scores rounded to 1/8192. spsc has integer splice scores for aligners, and
    hints has hints for AUGUSTUS, see :mod:`seqmtl.scanning.formats`; introns are those of a
    :class:`seqmtl.splicing.PairedFinder`, see :mod:`seqmtl.scanning.introns`, and all has these,
    BED of the sites that are likely, and bigWig of every site, in one pass.

    Parameters
    ----------
    output : path-like or binary stream
        A file appears when it is complete; see :func:`output_paths` for formats of several files.
        A name in ``.gz`` is compressed in blocks (bgzip), which every gzip reader accepts and
        tabix can index.
    pieces : iterable of ContigPiece
        Contigs, whole or in consecutive pieces.
    finder : SiteFinder or PairedFinder
        Finder of the sites to report.
    file_format : str, optional
        One of `FORMATS`. Default: by the suffix of `output`; without one BED.
    track : Track, optional
        Options of the files.
    progress : callable, optional
        Called with the number of site starts processed since the last call.

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
    sinks = make_sinks(output, file_format, finder, track or Track())
    summary = ScanSummary()
    work = partial(_scan_block, finder=finder, sinks=sinks)
    with ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}
        for sink in sinks:  # several sinks may share a file
            if sink.path not in files:
                files[sink.path] = stack.enter_context(open_packed(sink.path or output))
            sink.begin(files[sink.path])
            stack.callback(sink.close)
        joined = join_contigs(pieces, finder)
        for result in in_order(work, cut_blocks(joined, finder, finder.block, summary)):
            for sink, part in zip(sinks, result.parts, strict=True):
                sink.join(part, files[sink.path])
            summary.add(result.counts)
            if progress is not None:
                progress(result.n_starts)
        run_all(partial(_end, sinks=sinks, files=files), list(files))
    summary.n_records = sum(sink.n_records for sink in sinks)
    for path, preset in {sink.path: sink.preset for sink in sinks if sink.preset}.items():
        index_packed(path, preset, summary.longest_contig)
    _warn(summary, finder.window)
    return summary


def guess_format(output: Output) -> str:
    """Return the format of a file name; "bed" if the name has no suffix.

    Raises
    ------
    ValueError
        If no format has this suffix.
    """
    name = _name(output).lower().removesuffix(".gz")
    formats = [kind for kind, suffixes in SUFFIXES.items() if name.endswith(suffixes)]
    if not formats and os.path.splitext(name)[1]:
        all_suffixes = " ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
        raise ValueError(
            f"output must end in one of {all_suffixes} (or of these and .gz), got {output}; "
            "or name the format (--format)"
        )
    return formats[0] if formats else "bed"


def output_paths(
    output: str, file_format: str, strands: str, signals: Sequence[str] = ("",)
) -> list[str]:
    """Return the files of a scan.

    They are OUT.donor.bed and OUT.acceptor.bed for BED of both signals, and alike for other formats
    but spsc and introns; OUT.plus.bw and OUT.minus.bw for bigWig of both strands.
    """
    files = _files(output, file_format, strands, signals)
    return list(dict.fromkeys(path for path, _, _ in files))


def _files(
    output: str, file_format: str, strands: str, signals: Sequence[str]
) -> Iterator[tuple[str, int, str]]:
    """Yield every file with the number of its signal and the strand; one may have two signals."""
    if file_format == "all":
        yield f"{output}.introns.gff3", 0, strands
        yield from _files(f"{output}.bed.gz", "bed", strands, signals)
        yield from _files(f"{output}.bw", "bigwig", strands, signals)
        return
    for number, signal in enumerate(signals):
        is_separate = len(signals) > 1 and not SINKS[file_format].is_together
        path = inserted(output, signal) if is_separate else output
        if file_format != "bigwig" or strands != "both":
            yield path, number, strands
        else:
            yield inserted(path, "plus"), number, "+"
            yield inserted(path, "minus"), number, "-"


def inserted(path: str, part: str) -> str:
    """Insert a part before the suffix of a file name, also that before .gz."""
    stem, suffix = os.path.splitext(path)
    if suffix == ".gz":
        stem, inner = os.path.splitext(stem)
        suffix = inner + suffix
    return f"{stem}.{part}{suffix}"


def make_sinks(output: Output, file_format: str, finder: Finder, track: Track) -> list[Sink]:
    """Return a sink for each signal, and for each strand if strands have files of their own."""
    name = _name(output)
    signals = [site_finder.signal for site_finder in finder.finders]
    if file_format == "introns":
        return [IntronSink(name, finder, track)]
    if file_format == "all":
        return _all_sinks(name, finder, track)
    check_seekable(name, file_format, len(signals))
    return [
        SINKS[file_format](path, finder.finders[number], track._replace(strand=strand))
        for path, number, strand in _files(name, file_format, finder.strands, signals)
    ]


def _all_sinks(name: str, finder: Any, track: Track) -> list[Sink]:
    """Return the sinks of a paired finder: introns, likely sites and tracks."""
    (path, *_), *files = _files(
        name, "all", finder.strands, [site_finder.signal for site_finder in finder.finders]
    )
    sinks: list[Sink] = [IntronSink(path, finder, track)]
    for path, number, strand in files:
        site_finder = finder.finders[number]
        sink_track = track._replace(strand=strand)
        if path.endswith(".bw"):
            sinks.append(BigwigSink(path, site_finder, sink_track))
        else:
            sinks.append(LikelyBedSink(path, site_finder, sink_track, finder.least_intron))
    return sinks


def check_seekable(output: str, file_format: str, n_signals: int = 1) -> None:
    """Check that an output can hold a format.

    Raises
    ------
    UsageError
        If it is a stream, but the format needs files, or is compressed twice.
    """
    is_stream = not output or is_special(output)
    if is_stream and file_format == "all":
        raise UsageError("all writes several files; name them, such as FOLDER/sites")
    if is_stream and n_signals > 1 and not SINKS[file_format].is_together:
        raise UsageError(
            f"{file_format} has a file for each of {n_signals} signals, so it cannot be written to "
            "standard output; name a file, or choose spsc or introns"
        )
    if file_format == "bigwig" and is_stream:
        raise UsageError("bigWig cannot be written to standard output; name a file")
    if file_format == "bigwig" and output.endswith(".gz"):
        raise UsageError(f"bigWig is already compressed; name it without .gz, got {output}")


def _scan_block(block: Block, finder: Finder, sinks: Sequence[Sink]) -> BlockResult:
    """Score and format one block; runs in a worker thread."""
    found = finder.find(block.piece, block.first, block.last)
    parts = [sink.prepare(block, found.sites_by_signal) for sink in sinks]
    return BlockResult(parts, found.counts, block.n_starts)


def _end(path: str, sinks: Sequence[Sink], files: Mapping[str, IO[bytes]]) -> None:
    """Write what follows all sites of a file; runs in a worker thread."""
    for sink in sinks:
        if sink.path == path:
            sink.end(files[path])


def _name(output: Output) -> str:
    return "" if hasattr(output, "write") or output == "-" else os.fspath(output)


def _warn(summary: ScanSummary, window: int) -> None:
    short = summary.short_contigs
    if short:
        _log.warning(
            "%d of %d contigs are shorter than a window of %d bases and were not scanned: %s",
            len(short),
            summary.n_contigs,
            window,
            ", ".join(short[:5]) + (", ..." if len(short) > 5 else ""),
        )
