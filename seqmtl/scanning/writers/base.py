"""Base classes of the scan formats: blocks are formatted in threads and written in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_choice
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.bgzip import packer
from seqmtl.io.bed import check_first_field
from seqmtl.scanning.blocks import Block, Finder
from seqmtl.scanning.writers.lines import Field, Fields, format_lines, name_field
from seqmtl.sequences.sites import Sites

#: Sites in a block, by signal.
SitesBySignal = Mapping[str, Sites]


class TrackOptions(NamedTuple):
    """Options of an output file.

    Attributes
    ----------
    value : {"score", "probability"}
        Values in bedGraph and bigWig.
    lengths : mapping of str to int, optional
        Length of every contig in bases; required by bigWig, listed in GFF3.
    number : int
        Number of their signal.
    strand : {"both", "+", "-"}
        Strand of the sites in the file, if it is for one.
    min_probability : float, optional
        Minimum probability in BED, if the finder has no minimum.
    """

    value: str = "score"
    lengths: Mapping[str, int] | None = None
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
        Whether it has a value for every site, and no more of it.
    needs_lengths : bool
        Whether it begins with the lengths of all contigs; such a file is compressed, and is not
        written from its first byte to its last.
    is_of_strand : bool
        Whether it has the sites of one strand.
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
    needs_lengths = False
    is_of_strand = False
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

    def values(self, sites: Sites) -> NDArray[np.float32]:
        """Return the values of a track, raw scores or probabilities."""
        scores: NDArray[np.float32] = sites["scores"]
        if self.track.value == "score":
            return scores
        return self.finder.probability(scores).astype(np.float32)

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


class FormattedBlock(NamedTuple):
    """Text of a block, and the rows at its ends, which depend on the neighbouring blocks.

    Attributes
    ----------
    contig : str
        Contig of the block.
    last : int
        End of the block on it.
    head, tail : list of tuple
        Rows at the ends.
    n : int
        Rows between them.
    text : bytes
        Their lines.
    """

    contig: str
    last: int
    head: list[tuple[Any, ...]]
    tail: list[tuple[Any, ...]]
    n: int
    text: bytes


class BoundaryWriter(SiteWriter):
    """A text file in which lines at the ends of a block depend on the neighbouring blocks.

    Attributes
    ----------
    n_coordinates : int
        Number of leading columns of the rows that are positions on the contig.
    """

    n_coordinates = 1

    def __init__(self, path: str, finder: Finder, track: TrackOptions) -> None:
        super().__init__(path, finder, track)
        self._contig = ""
        self._pending: list[tuple[Any, ...]] = []

    @abstractmethod
    def rows(self, sites: Sites) -> tuple[NDArray[Any], ...]:
        """Return the columns of the rows of a block."""

    @abstractmethod
    def interior(self, block: Block, rows: Sequence[NDArray[Any]]) -> slice:
        """Return the rows that do not depend on the neighbouring blocks."""

    @abstractmethod
    def merge_boundary(
        self, pending: list[tuple[Any, ...]], formatted: FormattedBlock
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Merge rows at the beginning of a block; return them, and how many are complete."""

    @abstractmethod
    def fields(self, contig: Field, rows: Sequence[NDArray[Any]]) -> Fields:
        """Return what the lines of rows are made of."""

    def format(self, block: Block, sites_by_signal: SitesBySignal) -> FormattedBlock:
        """Format the lines of a block but the rows at its ends."""
        rows = self.rows(sites_by_signal[self.finder.signal])
        numbers, starts = block.contig.located(rows[0])
        is_joined = block.contig.contigs is not None  # then none continues in another block
        interior = slice(0, starts.size) if is_joined else self.interior(block, rows)
        shift = rows[0] - starts
        rows = (
            *(column - shift for column in rows[: self.n_coordinates]),
            *rows[self.n_coordinates :],
        )
        head, tail = (
            list(zip(*(column[part].tolist() for column in rows), strict=True))
            for part in (slice(interior.start), slice(interior.stop, None))
        )
        interior_rows = [column[interior] for column in rows]
        contig = name_field(block.contig, numbers[interior], check_first_field)
        texts = map(self.pack, format_lines(self.fields(contig, interior_rows)))
        return FormattedBlock(
            block.contig.name, block.last, head, tail, interior_rows[0].size, b"".join(texts)
        )

    def write(self, formatted: FormattedBlock, output: IO[bytes]) -> None:
        """Write the pending rows that are complete, then the block."""
        if formatted.contig != self._contig:
            self._flush(output, len(self._pending))
            self._contig = formatted.contig
        self._pending, n_ready = self.merge_boundary(self._pending + formatted.head, formatted)
        self._flush(output, n_ready)
        output.write(formatted.text)
        self.n_records += formatted.n
        self._pending += formatted.tail

    def finish(self, output: IO[bytes]) -> None:
        """Write the last rows."""
        self._flush(output, len(self._pending))

    def _flush(self, output: IO[bytes], n: int) -> None:
        """Write the first n pending rows."""
        if n:
            rows = [np.array(column) for column in zip(*self._pending[:n], strict=True)]
            contig = check_first_field(self._contig)
            for text in format_lines(self.fields(contig, rows)):
                output.write(self.pack(text))
            self.n_records += n
        self._pending = self._pending[n:]
