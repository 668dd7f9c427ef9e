"""Base classes of the scan formats: blocks are formatted in threads and written in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import IO, Any, NamedTuple

from seqmtl._checks import check_choice
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.bgzip import packer
from seqmtl.scanning.blocks import Block, Finder
from seqmtl.scanning.writers.lines import Fields, format_lines
from seqmtl.sequences.sites import Sites

#: Sites in a block, by signal.
SitesBySignal = Mapping[str, Sites]


class TrackOptions(NamedTuple):
    """Options of an output file.

    Attributes
    ----------
    value : {"score", "probability"}
        Values in bigWig.
    lengths : mapping of str to int
        Length of every contig in bases; required by bigWig, listed in GFF3. Default: unknown.
    number : int
        Number of their signal.
    strand : {"both", "+", "-"}
        Strand of the sites in the file, if it is for one.
    min_probability : float, optional
        Minimum probability in BED, if the finder has no minimum.
    """

    value: str = "score"
    lengths: Mapping[str, int] = MappingProxyType({})
    number: int = 0
    strand: str = "both"
    min_probability: float | None = None


class SiteWriter(ABC):
    """The sites of one signal in an output file of a scan.

    Parameters
    ----------
    path : str
        Final path of the file.
    finder : Finder
        What is scored and reported.
    track : TrackOptions
        Options of the file.

    Attributes
    ----------
    n_records : int
        Number of lines or values so far, without the header.
    pack : callable
        Compresses text, if the name of the file ends in .gz (bgzip).
    noun : str
        What its lines or values are.
    suffixes : tuple of str
        Suffixes of the names of files in this format, the usual one first.
    is_together : bool
        Whether the sites of all signals are in one file.
    is_track : bool
        Whether it has a value for every site of a strand, and no more of it. Such a file begins
        with the lengths of all contigs, is compressed, and is not written from its first byte to
        its last.
    has_introns : bool
        Whether its lines are introns.
    lists_contigs : bool
        Whether the lengths of contigs are in the file, if they are known.
    suffix_beside : str
        Suffix of the file among those of a format of several files; "" if it is in none.
    omission : str
        Which of the reported sites have no line, for messages; "" if all have one.
    preset : str
        Kind of the index of the file in bgzip, see :func:`seqmtl.files.bgzip.index_packed`; "" if
        there is none.
    what : str
        Content of a format that needs probabilities and their prior, for messages.
    signals : mapping
        Signals that such a format is for.

    Raises
    ------
    ValueError
        If the track's value is unknown, or there are no probabilities for it.
    SeqmtlError
        If the format is not for the signal, or needs a prior that is unknown.
    """

    noun = "sites"
    suffixes: tuple[str, ...] = ()
    is_together = False
    is_track = False
    has_introns = False
    lists_contigs = False
    suffix_beside = ""
    omission = ""
    preset = ""
    what = ""
    signals: Mapping[str, Any] = {}

    def __init__(self, path: str, finder: Finder, track: TrackOptions) -> None:
        check_choice("value", track.value, ("score", "probability"))
        self.path = path
        self.finder = finder.finders[track.number]
        if track.value == "probability" and self.finder.log_odds is None:
            raise ValueError("probabilities as values need log_odds; give the finder the function")
        self.track = track
        self.n_records = 0
        self.prior = self._checked_prior() if self.signals else 0.0
        self.pack = packer(path)

    def header(self) -> list[str]:
        """Return the header lines of a text."""
        return []

    def begin(self, output: IO[bytes]) -> None:
        """Write what precedes all sites: the header."""
        output.write(self.pack("".join(f"{line}\n" for line in self.header()).encode()))

    @abstractmethod
    def format(self, block: Block, sites_by_signal: SitesBySignal) -> Any:
        """Format the sites of a block; runs in a worker thread."""

    @abstractmethod
    def write(self, formatted: Any, output: IO[bytes]) -> None:
        """Write a formatted block; blocks come in the order of the genome."""

    def finish(self, output: IO[bytes]) -> None:  # noqa: B027
        """Write what follows all sites."""

    def close(self) -> None:  # noqa: B027
        """Close what :meth:`begin` has opened; called also after an error."""

    def _checked_prior(self) -> float:
        """Return the share of true sites at which the probabilities were calibrated."""
        signal = self.finder.signal
        prior = self.finder.prior
        if signal not in self.signals:
            raise SeqmtlError(
                f"{self.what} need a model of one of {', '.join(self.signals)}, but this one's "
                f"signal is {signal!r}; choose another --format"
            )
        if self.finder.log_odds is None or prior is None or not 0 < prior < 1:
            raise SeqmtlError(
                f"{self.what} need probabilities and the share of true sites behind them; train "
                "or calibrate the model with examples of both classes"
            )
        return prior


class LineWriter(SiteWriter):
    """A text file with a line for each site."""

    @abstractmethod
    def fields(self, block: Block, sites: Sites) -> Fields:
        """Return what the lines of a block are made of."""

    def format(self, block: Block, sites_by_signal: SitesBySignal) -> Any:
        """Format the lines of a block."""
        texts = format_lines(self.fields(block, sites_by_signal[self.finder.signal]))
        return [(text.count(b"\n"), self.pack(text)) for text in texts]

    def write(self, formatted: Any, output: IO[bytes]) -> None:
        """Write the lines of a block."""
        for n, text in formatted:
            output.write(text)
            self.n_records += n
