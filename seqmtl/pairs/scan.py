"""Write donors, acceptors and introns of a genome as a stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from seqmtl._checks import check_choice
from seqmtl._threads import in_order
from seqmtl.files.streams import Output
from seqmtl.io.genome import ContigPiece
from seqmtl.models.paired import ENDS, PairedModel
from seqmtl.models.probability_curve import to_probability
from seqmtl.pairs.finder import PairedFinder
from seqmtl.pairs.sinks import BothEndsSink, IntronSink
from seqmtl.scan.blocks import Block, cut_blocks
from seqmtl.scan.run import Recovery
from seqmtl.scan.sink import Sink, Track
from seqmtl.scan.spsc import SpliceScoreSink
from seqmtl.scan.summary import BlockCounts, ScanSummary
from seqmtl.scan.writers import (
    FORMATS,
    Done,
    Runs,
    index_file,
    make_sinks,
    output_paths,
    write_blocks,
)

#: Formats of a paired scan.
PAIRED_FORMATS = (*FORMATS, "introns")
#: Site starts scanned and formatted at a time; more where introns, and so the margins, are long.
BLOCK = 1_000_000
_BLOCKS_PER_MARGIN = 4


def write_paired_scan(
    output: Output,
    pieces: Iterable[ContigPiece],
    finder: PairedFinder,
    *,
    file_format: str,
    tracks: Mapping[str, Track],
    progress: Callable[[int], None] | None = None,
    recovery: Recovery | None = None,
    runs: Runs = in_order,
) -> ScanSummary:
    """Scan a genome for donors and acceptors in one pass.

    spsc and introns are one file; other formats have one per signal, see :func:`paired_paths`.
    Scores are the log-odds of the posterior probabilities.

    Parameters
    ----------
    output : path-like or binary stream
        Output named by the user; a stream for spsc and introns only.
    pieces, progress, recovery, runs
        See :func:`seqmtl.scan.write_scan`.
    finder : PairedFinder
        What to score and report.
    file_format : str
        One of `PAIRED_FORMATS`.
    tracks : mapping of str to Track
        What the files of each signal describe.

    Raises
    ------
    SeqmtlError
        If the output cannot be written.
    ValueError
        If the format is unknown.
    """
    check_choice("file_format", file_format, PAIRED_FORMATS)
    by_signal = _sinks(
        "" if hasattr(output, "write") else os.fspath(output), file_format, finder, tracks
    )
    sinks = [sink for _, sink in by_signal]
    size = max(BLOCK, _BLOCKS_PER_MARGIN * finder.margin)
    work = partial(_scan_block, finder=finder, sinks=by_signal)
    summary = write_blocks(
        output, partial(cut_blocks, pieces, finder, size), sinks, work,
        progress=progress, recovery=recovery, runs=runs,
    )  # fmt: skip
    for sink in sinks:
        kind = sink.kind if isinstance(sink, IntronSink) else file_format
        if finder.filters.top is None:  # else it is not in the order of the genome
            index_file(sink.path, kind, summary.longest_contig)
    return summary


def paired_paths(output: str, file_format: str, strands: str) -> list[str]:
    """Return the files of a paired scan: OUT.donor.bed and OUT.acceptor.bed for BED."""
    if file_format in ("spsc", "introns"):
        return [output]
    return [
        path for end in ENDS for path in output_paths(_of_signal(output, end), file_format, strands)
    ]


def tracks_of(
    model: PairedModel, organism: str, value: str, lengths: Mapping[str, int] | None
) -> dict[str, Track]:
    """Return what the files of each signal describe."""
    models: dict[str, Any] = {"donor": model.donor, "acceptor": model.acceptor}
    return {
        end: Track(value, end, lengths, own.prevalence(own.match(organism)))
        for end, own in models.items()
    }


def _sinks(
    output: str, file_format: str, finder: PairedFinder, tracks: Mapping[str, Track]
) -> list[tuple[str, Sink]]:
    """Return the sinks, each with what it takes: a signal, both, or introns."""
    if file_format == "introns":
        return [("introns", IntronSink(output, finder))]
    if file_format == "spsc":
        parts = [
            SpliceScoreSink(output, own, to_probability, tracks[end])
            for end, own in zip(ENDS, finder.finders, strict=True)
        ]
        return [("both", BothEndsSink(output, parts))]
    return [
        (end, sink)
        for end, own in zip(ENDS, finder.finders, strict=True)
        for sink in make_sinks(
            _of_signal(output, end), file_format, own, to_probability, tracks[end]
        )
    ]


def _of_signal(output: str, signal: str) -> str:
    """Insert the signal before the suffix of a file name."""
    stem, suffix = os.path.splitext(output)
    if suffix == ".gz":
        stem, inner = os.path.splitext(stem)
        suffix = inner + suffix
    return f"{stem}.{signal}{suffix}"


def _scan_block(block: Block, finder: PairedFinder, sinks: Sequence[tuple[str, Sink]]) -> Done:
    """Find and format what is in one block; runs in a worker thread."""
    with_introns = any(what == "introns" for what, _ in sinks)
    found = finder.find(block.piece, block.first, block.last, introns=with_introns)
    content: dict[str, Any] = {
        **dict(zip(ENDS, found.ends, strict=True)), "both": found.ends, "introns": found.introns,
    }  # fmt: skip
    parts = [sink.prepare(block, content[what]) for what, sink in sinks]
    counts = BlockCounts.of([block for end in found.ends for block in end])
    return Done(parts, counts, block.last - block.first)
