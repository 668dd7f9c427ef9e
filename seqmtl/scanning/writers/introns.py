"""Introns of a paired scan: BED12 with columns of probabilities, or GFF3."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from seqmtl.io.bed import check_first_field
from seqmtl.scanning.blocks import Block, Finder
from seqmtl.scanning.writers.base import LineWriter, SitesBySignal, TrackOptions
from seqmtl.scanning.writers.gff import GffWriter, in_attribute, in_gff
from seqmtl.scanning.writers.lines import (
    DECIMALS,
    Field,
    Fields,
    decimal_column,
    format_lines,
    integer_column,
    name_field,
    strand_column,
    tabbed,
    text_column,
)
from seqmtl.sequences.sites import Sites

_COLUMNS = (
    "#contig\tstart\tend\tname\tscore\tstrand\tthick_start\tthick_end\trgb\tblocks\t"
    "block_sizes\tblock_starts\tprobability\tdonor\tacceptor"
)


class IntronWriter(LineWriter):
    """One line per intron.

    Introns are in the order of the genome, or the best first if their number is limited; those of
    equal probability, as written, in the order of the genome.

    Parameters
    ----------
    path : str
        Final path; GFF3 if it ends in .gff3 or .gff, before .gz.
    finder : Finder
        Finder that has introns.
    track : TrackOptions
        Options of the file.
    """

    noun = "introns"
    is_together = has_introns = True
    suffix_beside = ".introns.gff3"
    preset = "bed"

    def __init__(self, path: str, finder: Finder, track: TrackOptions) -> None:
        super().__init__(path, finder, track)
        self._is_gff = path.lower().removesuffix(".gz").endswith(GffWriter.suffixes)
        self._top = finder.filters.top
        if self._is_gff:
            self.preset = "gff"
        if self._top is not None:  # lines are not in the order of the genome
            self.preset = ""
        self._description = (
            f"# seqmtl scan: introns of {finder.shortest_intron} bases or more, "
            f"strands both, probability >= {finder.introns:g}"
        )
        self._best: list[tuple[float, str]] = []  # probability, line

    def header(self) -> list[str]:
        """Return the header lines."""
        what = self._description + (
            f", the best {self._top} first" if self._top is not None else ""
        )
        return ["##gff-version 3", what] if self._is_gff else [what, _COLUMNS]

    def fields(self, block: Block, sites: Sites) -> Fields:
        """Return what the lines of a block are made of."""
        numbers, starts = block.contig.located(sites.starts)
        ends = sites["ends"] - (sites.starts - starts)
        introns = Sites(starts, sites.is_reverse, {**sites.columns, "ends": ends})
        if not self._is_gff:
            return _bed_fields(name_field(block.contig, numbers, check_first_field), introns)
        name = name_field(block.contig, numbers, lambda name: in_gff(name).encode())
        numbered_name = name_field(block.contig, numbers, lambda name: in_attribute(name).encode())
        return _gff_fields(name, numbered_name, introns)

    def format(self, block: Block, sites_by_signal: SitesBySignal) -> Any:
        """Format a block, or its best introns with their probabilities."""
        introns = sites_by_signal["introns"]
        if self._top is None:
            return super().format(block, {self.finder.signal: introns})
        p = np.rint(introns["probability"] * 10**DECIMALS) / 10**DECIMALS
        best = np.argsort(-p, kind="stable")[: self._top]
        text = b"".join(format_lines(self.fields(block, introns.take(best)))).decode()
        return list(zip(p[best].tolist(), text.splitlines(), strict=True))

    def write(self, formatted: Any, output: IO[bytes]) -> None:
        """Write a block, or keep its introns if they may be among the best."""
        if self._top is None:
            super().write(formatted, output)
            return
        self._best = sorted(self._best + formatted, key=lambda row: -row[0])[: self._top]
        self.n_records = len(self._best)

    def finish(self, output: IO[bytes]) -> None:
        """Write the best introns."""
        if self._best:
            output.write(self.pack("".join(f"{line}\n" for _, line in self._best).encode()))


def _bed_fields(contig: Field, introns: Sites) -> Fields:
    start, end = integer_column(introns.starts), introns["ends"]
    heights = np.rint(1000 * introns["probability"]).astype(np.int64)
    probabilities = [decimal_column(introns[name]) for name in ("probability", "donor", "acceptor")]
    box: list[Field] = [start, start, b"0", b"1", integer_column(end - introns.starts), b"0"]
    name = text_column(introns["is_u12"], (b"intron", b"U12_intron"))
    head: list[Field] = [contig, start, integer_column(end), name, integer_column(heights)]
    return tabbed(*head, strand_column(introns.is_reverse), *box, *probabilities)


def _gff_fields(name: Field, numbered_name: Field, introns: Sites) -> Fields:
    strand = strand_column(introns.is_reverse)
    start, end = integer_column(introns.starts + 1), integer_column(introns["ends"])
    p, donor, acceptor = (
        decimal_column(introns[key]) for key in ("probability", "donor", "acceptor")
    )
    head = tabbed(name, b"seqmtl", b"intron", start, end, p, strand, b".")
    identity: list[Field] = [b"\tID=", numbered_name, b":", start, b"-", end, b":", strand]
    probabilities: list[Field] = [b";probability=", p, b";donor=", donor, b";acceptor=", acceptor]
    u12 = text_column(introns["is_u12"], (b"", b";type=U12"))
    return [*head[:-1], *identity, *probabilities, u12, b"\n"]
