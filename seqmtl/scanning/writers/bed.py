"""BED of sites."""

from __future__ import annotations

import numpy as np

from seqmtl.io.bed import check_first_field
from seqmtl.scanning.blocks import Block
from seqmtl.scanning.writers.base import LineWriter
from seqmtl.scanning.writers.lines import (
    Field,
    Fields,
    decimal_column,
    integer_column,
    letters_field,
    name_field,
    probability_column,
    strand_field,
    tabbed,
)
from seqmtl.sequences.sites import Sites

_COORDINATES = "; coordinates 0-based half-open on the forward strand"


class BedWriter(LineWriter):
    """BED6 with one or two more columns, raw score and probability, 0-based half-open."""

    suffixes = (".bed",)
    suffix_beside = ".bed.gz"
    preset = "bed"

    def header(self) -> list[str]:
        """Return the header lines."""
        what, site = self.finder.description
        extra = "" if self.finder.log_odds is None else "\tprobability"
        columns = f"#contig\tstart\tend\tname\tscore\tstrand\traw_score{extra}"
        return [what, site + _COORDINATES, columns]

    def fields(self, block: Block, sites: Sites) -> Fields:
        """Return what the lines of a block are made of."""
        min_probability = self.track.min_probability
        if min_probability is not None:
            is_likely = self.finder.probability(sites["scores"]) >= min_probability
            sites = sites.take(is_likely)
        sites = sites.in_order()
        finder = self.finder
        numbers, starts = block.contig.located(sites.starts)
        starts = starts - finder.before
        scores = sites["scores"]
        columns: list[Field] = [
            name_field(block.contig, numbers, check_first_field),
            integer_column(starts),
            integer_column(starts + finder.extent),
            letters_field(block.contig, sites, finder.extent, finder.consensus)
            if finder.has_letters
            else b".",
        ]
        if self.finder.log_odds is None:
            p = 1.0 / (1.0 + np.exp(-np.clip(scores.astype(np.float64), -50, 50)))
            probability: list[Field] = []
        else:
            p = self.finder.probability(scores)
            probability = [probability_column(p)]
        heights = np.rint(1000 * p).astype(np.int64)
        columns += [
            integer_column(heights),
            strand_field(sites, finder.has_strand),
            decimal_column(scores),
            *probability,
        ]
        return tabbed(*columns)
