"""What every format of a scan has in common: prepared block by block, joined in order."""

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

#: Digits after the point of a raw score; a probability has one more.
DECIMALS = 5
#: Lines formatted at a time.
LINES = 1 << 15


@dataclass(frozen=True)
class Track:
    """What a file says beside the scores.

    Parameters
    ----------
    value : {"score", "probability"}
        What bedGraph and bigWig hold.
    signal : str
        Kind of the sites, see :attr:`seqmtl.models.site.Site.kind`.
    lengths : mapping of str to int, optional
        Bases of every contig; bigWig needs them, GFF3 tells them.
    prior : float, optional
        Share of true sites by which probabilities were calibrated; spsc needs it.
    """

    value: str = "score"
    signal: str = "site"
    lengths: Mapping[str, int] | None = None
    prior: float | None = None


class Output(Protocol):
    """Where a sink writes."""

    def write(self, data: bytes) -> None:
        """Append bytes."""


class Sink(ABC):
    """One file of a scan.

    Parameters
    ----------
    path : str
        Where it is to stand.
    finder : SiteFinder
        What is scored and reported.
    probability : callable, optional
        Turns raw scores into probabilities.
    track : Track
        What else the file says.

    Attributes
    ----------
    n_records : int
        Lines or values so far, the header aside.
    sides : tuple of str
        Files beside it while it is written.

    Raises
    ------
    ValueError
        If the track's value is not known, or there are no probabilities for it.
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
        """Write what stands before all sites."""

    @abstractmethod
    def prepare(self, block: Block, strands: Sequence[SiteBlock]) -> Any:
        """Format the sites of a block; runs in a worker thread."""

    @abstractmethod
    def join(self, prepared: Any, output: Any) -> None:
        """Write a prepared block; blocks come in the order of the genome."""

    @abstractmethod
    def end(self, output: Any) -> None:
        """Write what stands behind all sites."""

    def state(self) -> dict[str, Any]:
        """Return what the next block depends on, as JSON values."""
        return {"n_records": self.n_records}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what :meth:`state` returned."""
        self.n_records = state["n_records"]


class TextSink(Sink):
    """A file of lines, in bgzip blocks where its name ends in .gz."""

    def __init__(
        self, path: str, finder: SiteFinder, probability: Probability | None, track: Track
    ) -> None:
        super().__init__(path, finder, probability, track)
        self.pack = packer(path)

    @abstractmethod
    def header(self) -> list[str]:
        """Return the lines before all sites."""

    def begin(self, output: Output) -> None:
        """Write the header."""
        output.write(self.pack("".join(f"{line}\n" for line in self.header()).encode()))

    def end(self, output: Output) -> None:
        """Write the end of a bgzip file."""
        if self.pack is bgzip:
            output.write(BGZIP_END)


def describe(finder: SiteFinder) -> list[str]:
    """Say in comment lines what was scanned for and which base is the site."""
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
