"""Formats of scans: their writers, and the files they write."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from seqmtl.exceptions import ParameterError, UsageError
from seqmtl.files.streams import Output
from seqmtl.files.write import is_special
from seqmtl.scanning.blocks import Finder
from seqmtl.scanning.writers.base import SiteWriter, TrackOptions
from seqmtl.scanning.writers.bed import BedgraphWriter, BedWriter
from seqmtl.scanning.writers.bigwig import BigwigWriter
from seqmtl.scanning.writers.gff import GffWriter, HintWriter
from seqmtl.scanning.writers.introns import IntronWriter
from seqmtl.scanning.writers.spsc import SpliceScoreWriter

#: Class that writes each format.
WRITERS: dict[str, type[SiteWriter]] = {
    "bigwig": BigwigWriter,
    "bedgraph": BedgraphWriter,
    "bed": BedWriter,
    "gff3": GffWriter,
    "spsc": SpliceScoreWriter,
    "hints": HintWriter,
    "introns": IntronWriter,
}
FORMATS = (*WRITERS, "all")
#: Formats with introns.
OF_INTRONS = ("introns", "all")
#: Suffixes that name a format.
SUFFIXES = {name: writer.suffixes for name, writer in WRITERS.items() if writer.suffixes}


class OutputFile(NamedTuple):
    """A file of a scan, or a part of one that has several signals.

    Attributes
    ----------
    path : str
        Its name; "" for a stream.
    file_format : str
        Its format.
    number : int
        Number of its signal.
    strand : {"both", "+", "-"}
        Strand of its sites, if it is for one.
    """

    path: str
    file_format: str
    number: int
    strand: str = "both"


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
        raise ParameterError(
            f"must end in one of {all_suffixes} (or of these and .gz), got {output}; or name the "
            "format (--format)",
            "output",
        )
    return formats[0] if formats else "bed"


def output_paths(
    output: str, file_format: str, has_strand: bool, signals: Sequence[str] = ("",)
) -> list[str]:
    """Return the files of a scan.

    They are OUT.donor.bed and OUT.acceptor.bed for BED of both signals, and alike for other formats
    but spsc and introns; OUT.plus.bw and OUT.minus.bw for bigWig of both strands.
    """
    return list(
        dict.fromkeys(file.path for file in _files(output, file_format, has_strand, signals))
    )


def _files(
    output: str, file_format: str, has_strand: bool, signals: Sequence[str]
) -> Iterator[OutputFile]:
    """Yield every file of a scan; one with several signals for each of them."""
    if file_format == "all":
        yield OutputFile(f"{output}.introns.gff3", "introns", 0)
        yield from _files(f"{output}.bed.gz", "bed", has_strand, signals)
        yield from _files(f"{output}.bw", "bigwig", has_strand, signals)
        return
    for number, signal in enumerate(signals):
        is_separate = len(signals) > 1 and not WRITERS[file_format].is_together
        path = inserted(output, signal) if is_separate else output
        if file_format != "bigwig" or not has_strand:
            yield OutputFile(path, file_format, number)
        else:
            yield OutputFile(inserted(path, "plus"), file_format, number, "+")
            yield OutputFile(inserted(path, "minus"), file_format, number, "-")


def inserted(path: str, part: str) -> str:
    """Insert a part before the suffix of a file name, also that before .gz."""
    stem, suffix = os.path.splitext(path)
    if suffix == ".gz":
        stem, inner = os.path.splitext(stem)
        suffix = inner + suffix
    return f"{stem}.{part}{suffix}"


def make_writers(
    output: Output, file_format: str, finder: Finder, track: TrackOptions
) -> list[SiteWriter]:
    """Return a writer for each signal, and for each strand that has a file."""
    name = _name(output)
    signals = [site_finder.signal for site_finder in finder.finders]
    check_seekable(name, file_format, len(signals))
    if file_format == "introns":
        signals = signals[:1]
    if file_format in OF_INTRONS and finder.introns is None:
        raise UsageError("introns need a model of seqmtl pair; choose another --format")
    if file_format == "all" and finder.introns is not None:
        track = track._replace(min_probability=finder.introns.min_probability)
    writers: list[SiteWriter] = []
    for path, kind, number, strand in _files(name, file_format, finder.has_strand, signals):
        of_file = track._replace(strand=strand)
        if kind == "introns":
            writers.append(IntronWriter(path, finder, of_file))
        else:
            writers.append(WRITERS[kind](path, finder.finders[number], of_file))
    return writers


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
    if is_stream and n_signals > 1 and not WRITERS[file_format].is_together:
        raise UsageError(
            f"{file_format} has a file for each of {n_signals} signals, so it cannot be written to "
            "standard output; name a file, or choose spsc or introns"
        )
    if file_format == "bigwig" and is_stream:
        raise UsageError("bigWig cannot be written to standard output; name a file")
    if file_format == "bigwig" and output.endswith(".gz"):
        raise UsageError(f"bigWig is already compressed; name it without .gz, got {output}")


def _name(output: Output) -> str:
    return "" if hasattr(output, "write") or output == "-" else os.fspath(output)
