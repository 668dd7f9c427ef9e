"""Formats of scans: their writers, and the files they write."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from seqmtl._checks import check_choice
from seqmtl.exceptions import ParameterError, UsageError
from seqmtl.files.streams import Output
from seqmtl.files.write import is_special
from seqmtl.scanning.blocks import Finder
from seqmtl.scanning.writers.base import SiteWriter, TrackOptions
from seqmtl.scanning.writers.bed import BedWriter
from seqmtl.scanning.writers.bigwig import BigwigWriter
from seqmtl.scanning.writers.gff import GffWriter, HintWriter
from seqmtl.scanning.writers.introns import IntronWriter
from seqmtl.scanning.writers.spsc import SpliceScoreWriter


class Format(NamedTuple):
    """A format of scans.

    Attributes
    ----------
    name : str
        Its name, for users.
    writers : tuple of type
        Class that writes its file; several for a format of several files.
    """

    name: str
    writers: tuple[type[SiteWriter], ...]

    @property
    def has_several_files(self) -> bool:
        """Whether it is of several files."""
        return len(self.writers) > 1

    @property
    def has_introns(self) -> bool:
        """Whether it has introns."""
        return any(writer.has_introns for writer in self.writers)

    @property
    def is_track(self) -> bool:
        """Whether it has a value for every site, and no more of it."""
        return all(writer.is_track for writer in self.writers)

    @property
    def is_together(self) -> bool:
        """Whether the sites of all signals are in one file."""
        return all(writer.is_together for writer in self.writers)

    @property
    def needs_lengths(self) -> bool:
        """Whether the lengths of all contigs must be known."""
        return any(writer.is_track for writer in self.writers)

    @property
    def lists_contigs(self) -> bool:
        """Whether the lengths of contigs are written, if they are known."""
        return any(writer.lists_contigs for writer in self.writers)


_WRITERS: dict[str, type[SiteWriter]] = {
    "bigwig": BigwigWriter,
    "bed": BedWriter,
    "gff3": GffWriter,
    "spsc": SpliceScoreWriter,
    "hints": HintWriter,
    "introns": IntronWriter,
}
#: Formats by name.
FORMATS = {name: Format(name, (writer,)) for name, writer in _WRITERS.items()}
FORMATS["all"] = Format("all", (IntronWriter, BedWriter, BigwigWriter))
#: Suffixes that name a format.
SUFFIXES = {name: writer.suffixes for name, writer in _WRITERS.items() if writer.suffixes}


def format_of(name: str | None, output: Output) -> Format:
    """Return the format of a name, or else of the suffix of a file; BED if it has none.

    Raises
    ------
    ValueError
        If there is no such format, or none has this suffix.
    """
    if name is not None:
        check_choice("file_format", name, FORMATS)
        return FORMATS[name]
    stem = _name(output).lower().removesuffix(".gz")
    names = [kind for kind, suffixes in SUFFIXES.items() if stem.endswith(suffixes)]
    if not names and os.path.splitext(stem)[1]:
        all_suffixes = " ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
        raise ParameterError(
            f"must end in one of {all_suffixes} (or of these and .gz), got {output}; or name the "
            "format (--format); bigWigToBedGraph makes bedGraph of .bw",
            "output",
        )
    return FORMATS[names[0] if names else "bed"]


def output_paths(
    output: Output,
    file_format: Format,
    has_strand: bool,
    signals: Sequence[str] = ("",),
    *,
    has_introns: bool = False,
) -> list[str]:
    """Return the files of a scan, after checking that there can be such files.

    They are OUT.donor.bed and OUT.acceptor.bed for BED of both signals, and alike for other formats
    but spsc and introns; OUT.plus.bw and OUT.minus.bw for bigWig of both strands.

    Parameters
    ----------
    output : path-like or binary stream
        OUT; ``-`` for standard output.
    file_format : Format
        The format.
    has_strand : bool
        Whether a site is on a strand.
    signals : sequence of str
        Signals of the sites.
    has_introns : bool
        Whether there are introns.

    Raises
    ------
    UsageError
        If there are no introns for it, or it is a stream or compressed, and the format is not for
        these.
    """
    _check(_name(output), file_format, len(signals), has_introns=has_introns)
    files = _files(_name(output) or "-", file_format, has_strand, signals)
    return list(dict.fromkeys(path for path, *_ in files))


def _check(output: str, file_format: Format, n_signals: int, *, has_introns: bool) -> None:
    is_stream, name = not output or is_special(output), file_format.name
    if file_format.has_introns and not has_introns:
        raise UsageError("introns need a model of seqmtl pair; choose another --format")
    if is_stream and file_format.has_several_files:
        raise UsageError(f"{name} writes several files; name them, such as FOLDER/sites")
    if is_stream and n_signals > 1 and not file_format.is_together:
        raise UsageError(
            f"{name} has a file for each of {n_signals} signals, so it cannot be written to "
            "standard output; name a file, or choose spsc or introns"
        )
    if is_stream and file_format.needs_lengths:
        raise UsageError(f"{name} cannot be written to standard output; name a file")
    if output.endswith(".gz") and file_format.needs_lengths:
        raise UsageError(f"{name} is already compressed; name it without .gz, got {output}")


def _files(
    output: str, file_format: Format, has_strand: bool, signals: Sequence[str]
) -> Iterator[tuple[str, type[SiteWriter], int, str]]:
    """Yield path, writer, number of the signal and strand of every file of a scan.

    A file with several signals is yielded for each of them.
    """
    for writer in file_format.writers:
        name = f"{output}{writer.suffix_beside}" if file_format.has_several_files else output
        for number, signal in enumerate(signals[:1] if writer.has_introns else signals):
            is_separate = len(signals) > 1 and not writer.is_together
            path = inserted(name, signal) if is_separate else name
            if writer.is_track and has_strand:
                yield inserted(path, "plus"), writer, number, "+"
                yield inserted(path, "minus"), writer, number, "-"
            else:
                yield path, writer, number, "both"


def inserted(path: str, part: str) -> str:
    """Insert a part before the suffix of a file name, also that before .gz."""
    stem, suffix = os.path.splitext(path)
    if suffix == ".gz":
        stem, inner = os.path.splitext(stem)
        suffix = inner + suffix
    return f"{stem}.{part}{suffix}"


def make_writers(
    output: Output, file_format: Format, finder: Finder, track: TrackOptions
) -> list[SiteWriter]:
    """Return a writer for each signal, and for each strand that has a file."""
    signals = [site_finder.signal for site_finder in finder.finders]
    introns = finder.introns
    _check(_name(output), file_format, len(signals), has_introns=introns is not None)
    if file_format.has_several_files and introns is not None:
        track = track._replace(min_probability=introns)
    return [
        writer(path, finder, track._replace(number=number, strand=strand))
        for path, writer, number, strand in _files(
            _name(output), file_format, finder.has_strand, signals
        )
    ]


def _name(output: Output) -> str:
    return "" if hasattr(output, "write") or output == "-" else os.fspath(output)
