"""Scan a genome and write its sites."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import IO, Any

from seqmtl._threads import in_order, prefetch, run_all
from seqmtl.files.bgzip import index_packed, open_packed
from seqmtl.files.streams import Output
from seqmtl.io.genome import ContigPiece
from seqmtl.scanning.blocks import Block, Finder, cut_blocks
from seqmtl.scanning.filters import ScanSummary
from seqmtl.scanning.writers.base import SitesBySignal, SiteWriter, TrackOptions
from seqmtl.scanning.writers.formats import format_of, make_writers

_log = logging.getLogger(__name__)

#: Called with every block and its sites by signal, in the order of the genome.
OnBlock = Callable[[Block, SitesBySignal], None]


def write_scan(
    output: Output,
    contigs: Iterable[ContigPiece],
    finder: Finder,
    *,
    file_format: str | None = None,
    track: TrackOptions | None = None,
    progress: Callable[[int], None] | None = None,
    on_block: OnBlock | None = None,
) -> ScanSummary:
    """Scan a genome and write the sites, by contig and start, plus before minus.

    BED and GFF3 have one line per site, with its letters, raw score and, if known, probability.
    bigWig has a file per strand, with a value at the first base of the site's interval on the
    forward strand, and raw scores rounded to 1/8192. spsc has integer splice scores for aligners,
    and hints has hints for AUGUSTUS, see :mod:`seqmtl.scanning.writers.gff`; introns are those of a
    :class:`seqmtl.splicing.PairedFinder`, see :mod:`seqmtl.scanning.writers.introns`, and all has
    these, BED of the sites that are likely, and bigWig of every site, in one pass.

    Parameters
    ----------
    output : path-like or binary stream
        A file appears when it is complete; see
        :func:`seqmtl.scanning.writers.formats.output_paths` for formats of several files.
        A name in ``.gz`` is compressed in blocks (bgzip), which every gzip reader accepts and
        tabix can index.
    contigs : iterable of ContigPiece
        Whole contigs, see :func:`seqmtl.io.read_contigs`.
    finder : SiteFinder or PairedFinder
        Finder of the sites to report.
    file_format : str, optional
        One of `FORMATS`. Default: by the suffix of `output`; without one BED.
    track : TrackOptions, optional
        Options of the files.
    progress : callable, optional
        Called with the number of bases scanned.
    on_block : callable, optional
        Called with every block and its sites by signal, in the order of the genome.

    Returns
    -------
    ScanSummary

    Raises
    ------
    SeqmtlError
        If the output cannot be written, or the model does not support the format.
    ValueError
        If the format is unknown.
    """
    chosen = format_of(file_format, output)
    writers = make_writers(output, chosen, finder, track or TrackOptions())
    summary = ScanSummary()
    work = partial(_scan_block, finder=finder, writers=writers)
    with ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}
        for writer in writers:  # several writers may share a file
            if writer.path not in files:
                files[writer.path] = stack.enter_context(open_packed(writer.path or output))
            writer.begin(files[writer.path])
            stack.callback(writer.close)
        n_scanned = 0
        blocks = cut_blocks(prefetch(contigs), finder, summary)
        for block, sites, counts, texts in in_order(work, blocks):
            for writer, text in zip(writers, texts, strict=True):
                writer.write(text, files[writer.path])
            if on_block is not None:
                on_block(block, sites)
            summary.add(counts)
            n_scanned += block.n_bases
            if progress is not None:
                progress(n_scanned)
        run_all(partial(_finish, writers=writers, files=files), list(files))
    for writer in writers:
        n_before = summary.written.get(writer.noun, 0)
        summary.written[writer.noun] = n_before + writer.n_records
    summary.n_records = sum(summary.written.values())
    for path, preset in {writer.path: writer.preset for writer in writers if writer.preset}.items():
        index_packed(path, preset, summary.longest_contig)
    _warn(summary, finder.window)
    return summary


def _scan_block(
    block: Block, finder: Finder, writers: Sequence[SiteWriter]
) -> tuple[Block, SitesBySignal, ScanSummary, list[Any]]:
    """Score and format one block for every writer; runs in a worker thread."""
    counts = ScanSummary()
    sites = finder.find(*block, counts)
    return block, sites, counts, [writer.format(block, sites) for writer in writers]


def _finish(path: str, writers: Sequence[SiteWriter], files: Mapping[str, IO[bytes]]) -> None:
    """Write what follows all sites of a file; runs in a worker thread."""
    for writer in writers:
        if writer.path == path:
            writer.finish(files[path])


def _warn(summary: ScanSummary, window: int) -> None:
    short = summary.short_contigs
    if short:
        _log.warning(
            "%d of %d contigs not scanned (shorter than a window of %d bases): %s",
            len(short),
            summary.n_contigs,
            window,
            ", ".join(short[:5]) + (", ..." if len(short) > 5 else ""),
        )
