"""What a scan reads and writes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seqmtl._progress import ScanProgress
from seqmtl.exceptions import UsageError
from seqmtl.files.pipes import is_read_once
from seqmtl.io.genome import contig_lengths, read_contigs
from seqmtl.scanning.filters import ScanSummary, SiteFilters
from seqmtl.scanning.predictor import Predictor
from seqmtl.scanning.scan import write_scan
from seqmtl.scanning.writers.base import TrackOptions
from seqmtl.scanning.writers.formats import Format, check_seekable, output_paths


@dataclass(frozen=True)
class ScanPlan:
    """The scans of a genome, one for each organism.

    Attributes
    ----------
    outputs : dict of Predictor to str
        Output by predictor.
    genome : str
        FASTA file, or ``-``.
    file_format : Format
        The format.
    """

    outputs: dict[Predictor, str]
    genome: str
    file_format: Format

    def files(self, predictor: Predictor) -> list[str]:
        """Return the files to write for an organism."""
        signals = predictor.signals(self.file_format)
        return output_paths(
            self.outputs[predictor], self.file_format, predictor.is_stranded, signals
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
        for predictor, output in self.outputs.items():
            if self.file_format.has_introns and not predictor.has_introns:
                raise UsageError("introns need a model of seqmtl pair; choose another --format")
            predictor.check()
            n_signals = len(predictor.signals(self.file_format))
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
        predictor: Predictor,
        filters: SiteFilters,
        *,
        introns: float | None = None,
        lengths: Mapping[str, int] | None = None,
    ) -> ScanSummary:
        """Scan the genome for the sites of an organism, and write them.

        Parameters
        ----------
        predictor : Predictor
            That of the organism.
        filters : SiteFilters
            Which sites to report.
        introns : float, optional
            Minimum probability of introns, if they are written.
        lengths : mapping of str to int, optional
            Result of :meth:`contig_lengths`.
        """
        finder = predictor.finder(self.file_format, filters=filters, introns=introns)
        value = "probability" if predictor.is_calibrated else "score"
        has_scores_alone = self.file_format.is_track and value == "score"
        if not has_scores_alone or filters.min_probability is not None:
            predictor.warn_if_uncalibrated()
        is_file = os.path.isfile(self.genome)
        progress = ScanProgress(os.path.getsize(self.genome) if is_file else None)
        contigs = read_contigs(
            self.genome,
            only=filters.scanned,
            on_read=progress.read,
        )
        try:
            return write_scan(
                self.outputs[predictor],
                progress.contigs(contigs),
                finder,
                file_format=self.file_format.name,
                track=TrackOptions(value, lengths),
                progress=progress,
            )
        finally:
            progress.close()
