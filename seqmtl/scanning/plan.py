"""What a scan reads and writes, and what it needs from a model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from seqmtl._progress import ScanProgress
from seqmtl.exceptions import UsageError
from seqmtl.files.pipes import is_read_once
from seqmtl.io.genome import contig_lengths, read_contigs
from seqmtl.scanning.blocks import Finder
from seqmtl.scanning.filters import ScanSummary, SiteFilters
from seqmtl.scanning.scan import write_scan
from seqmtl.scanning.writers.base import TrackOptions
from seqmtl.scanning.writers.formats import Format, check_seekable, output_paths


class SiteModel(Protocol):
    """A model of sites, as a scan sees it.

    Attributes
    ----------
    has_introns : bool
        Whether its sites are ends of introns.
    is_stranded : bool
        Whether a site is on a strand.
    """

    has_introns: bool
    is_stranded: bool

    @property
    def tasks(self) -> tuple[str, ...]:
        """Its organisms."""

    def unsupported(self, file_format: Format) -> Mapping[str, str]:
        """Return the options that do not apply to it, with a message for each."""

    def check(self, organism: str) -> None:
        """Check that an organism can be scored, and log how."""

    def signals(self, organism: str, file_format: Format) -> tuple[str, ...]:
        """Return the signals to write in a format."""

    def is_calibrated(self, organism: str) -> bool:
        """Return whether probabilities hold over the genome."""

    def warn_if_uncalibrated(self, organism: str) -> None:
        """Log what probabilities are, unless they hold over the genome."""

    def finder(
        self,
        organism: str,
        file_format: Format,
        *,
        filters: SiteFilters,
        introns: float | None,
    ) -> Finder:
        """Return the finder of the sites of an organism.

        Parameters
        ----------
        organism : str
            The organism.
        file_format : Format
            The format of its sites.
        filters : SiteFilters
            Which sites to report.
        introns : float, optional
            Also find introns of at least this probability.
        """


@dataclass(frozen=True)
class ScanPlan:
    """The scans of a genome, one for each organism of a model.

    Attributes
    ----------
    model : SiteModel
        The model.
    genome : str
        FASTA file, or ``-``.
    outputs : dict of str to str
        Output by organism.
    file_format : Format
        The format.
    """

    model: SiteModel
    genome: str
    outputs: dict[str, str]
    file_format: Format

    def files(self, organism: str) -> list[str]:
        """Return the files to write for an organism."""
        signals = self.model.signals(organism, self.file_format)
        return output_paths(
            self.outputs[organism], self.file_format, self.model.is_stranded, signals
        )

    def check(self) -> None:
        """Check that the model has the organisms, and that outputs can hold the format.

        Raises
        ------
        UsageError
            If not.
        UnknownTaskError
            If the model does not know an organism.
        """
        if self.file_format.has_introns and not self.model.has_introns:
            raise UsageError("introns need a model of seqmtl pair; choose another --format")
        for organism, output in self.outputs.items():
            self.model.check(organism)
            n_signals = len(self.model.signals(organism, self.file_format))
            check_seekable("" if output == "-" else output, self.file_format, n_signals)

    def contig_lengths(self, options: Sequence[str]) -> dict[str, int] | None:
        """Return the contig lengths, if the format or the options named need them.

        Raises
        ------
        UsageError
            If they are needed, and the genome comes from standard input or a pipe.
        """
        file_format = self.file_format
        needing = [*([file_format.name] if file_format.needs_lengths else []), *options]
        if is_read_once(self.genome) and needing:
            raise UsageError(
                f"{needing[0]} reads the genome twice, so it cannot come from standard input "
                "or a pipe; give it as a file"
            )
        is_needed = needing or (file_format.lists_contigs and not is_read_once(self.genome))
        return contig_lengths(self.genome) if is_needed else None

    def run(
        self,
        organism: str,
        filters: SiteFilters,
        *,
        introns: float | None = None,
        lengths: Mapping[str, int] | None = None,
    ) -> ScanSummary:
        """Scan the genome for the sites of an organism, and write them.

        Parameters
        ----------
        organism : str
            One of the organisms.
        filters : SiteFilters
            Which sites to report.
        introns : float, optional
            Minimum probability of introns, if they are written.
        lengths : mapping of str to int, optional
            Result of :meth:`contig_lengths`.
        """
        finder = self.model.finder(
            organism,
            self.file_format,
            filters=filters,
            introns=introns,
        )
        is_calibrated = self.model.is_calibrated(organism)
        value = "probability" if is_calibrated else "score"
        has_scores_alone = self.file_format.is_track and value == "score"
        if not has_scores_alone or filters.min_probability is not None:
            self.model.warn_if_uncalibrated(organism)
        is_file = os.path.isfile(self.genome)
        progress = ScanProgress(os.path.getsize(self.genome) if is_file else None)
        contigs = read_contigs(
            self.genome,
            only=filters.scanned,
            on_read=progress.read,
        )
        try:
            return write_scan(
                self.outputs[organism],
                progress.contigs(contigs),
                finder,
                file_format=self.file_format.name,
                track=TrackOptions(value, lengths),
                progress=progress,
            )
        finally:
            progress.close()
