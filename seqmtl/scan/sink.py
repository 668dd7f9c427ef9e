"""Base classes of the scan formats: blocks are formatted in threads and written in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from seqmtl.files.bgzip import BGZIP_END, bgzip, packer
from seqmtl.scan.blocks import Block
from seqmtl.scan.filters import Probability
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.site_block import SiteBlock

#: Decimals of a raw score; a probability has one more, or as many as show three digits of it.
DECIMALS = 5
#: Lines formatted at a time.
LINES = 1 << 15


@dataclass(frozen=True)
class Track:
    """What a file describes besides the scores.

    Parameters
    ----------
    value : {"score", "probability"}
        Values in bedGraph and bigWig.
    signal : str
        Kind of the sites, see :attr:`seqmtl.models.site.Site.kind`.
    lengths : mapping of str to int, optional
        Length of every contig in bases; required by bigWig, listed in GFF3.
    prior : float, optional
        Prevalence at which probabilities were calibrated; required by spsc.
    """

    value: str = "score"
    signal: str = "site"
    lengths: Mapping[str, int] | None = None
    prior: float | None = None


class Output(Protocol):
    """Destination of a sink."""

    def write(self, data: bytes) -> None:
        """Append bytes."""


class Sink(ABC):
    """One output file of a scan.

    Parameters
    ----------
    path : str
        Final path of the file.
    finder : SiteFinder
        What is scored and reported.
    probability : callable, optional
        Converts raw scores to probabilities.
    track : Track
        What else the file describes.

    Attributes
    ----------
    n_records : int
        Number of lines or values so far, without the header.
    sides : tuple of str
        Names of the side files used while writing.

    Raises
    ------
    ValueError
        If the track's value is unknown, or there are no probabilities for it.
    """

    sides: tuple[str, ...] = ()

    def __init__(
        self, path: str, finder: SiteFinder, probability: Probability | None, track: Track
    ) -> None:
        if track.value not in ("score", "probability"):
            raise ValueError(f"value must be 'score' or 'probability', got {track.value!r}")
        if track.value == "probability" and probability is None:
            raise ValueError("probabilities as values need probability; give the function")
        self.path, self.finder = path, finder
        self.probability, self.track = probability, track
        self.n_records = 0

    @abstractmethod
    def begin(self, output: Any) -> None:
        """Write what precedes all sites."""

    @abstractmethod
    def prepare(self, block: Block, strands: Sequence[SiteBlock]) -> Any:
        """Format the sites of a block; runs in a worker thread."""

    @abstractmethod
    def join(self, prepared: Any, output: Any) -> None:
        """Write a prepared block; blocks come in the order of the genome."""

    @abstractmethod
    def end(self, output: Any) -> None:
        """Write what follows all sites."""

    def state(self) -> dict[str, Any]:
        """Return the state on which the next block depends, as JSON values."""
        return {"n_records": self.n_records}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of :meth:`state`."""
        self.n_records = state["n_records"]


class TextSink(Sink):
    """A text file, in bgzip blocks if its name ends in .gz."""

    def __init__(
        self, path: str, finder: SiteFinder, probability: Probability | None, track: Track
    ) -> None:
        super().__init__(path, finder, probability, track)
        self.pack = packer(path)

    @abstractmethod
    def header(self) -> list[str]:
        """Return the header lines."""

    def begin(self, output: Output) -> None:
        """Write the header."""
        output.write(self.pack("".join(f"{line}\n" for line in self.header()).encode()))

    def end(self, output: Output) -> None:
        """Write the end of a bgzip file."""
        if self.pack is bgzip:
            output.write(BGZIP_END)


def describe(finder: SiteFinder) -> list[str]:
    """Describe the scan and the site in comment lines."""
    scanner, filters = finder.scanner, finder.filters
    asked = [f"strands {finder.strands}"]
    if finder.consensus is not None:
        asked.append(f"consensus {','.join(finder.consensus)}")
    if filters.regions is not None:
        asked.append("sites that start in given regions")
    if filters.skip_lower:
        asked.append("no soft-masked sites")
    if finder.threshold is not None:
        asked.append(f"raw score >= {finder.threshold:g}")
    if filters.min_probability is not None:
        asked.append(f"probability >= {filters.min_probability:g}")
    if filters.top is not None:
        asked.append(f"the best {filters.top} in every megabase")
    return [
        f"# seqmtl scan: windows of {scanner.length} bases, {', '.join(asked)}",
        f"# site: {scanner.site_length} base(s) from offset {scanner.site_offset} of the window in "
        "reading direction",
    ]
