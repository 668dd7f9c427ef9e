"""BED of sites, and bedGraph of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.bed import check_first_field
from seqmtl.scanning.blocks import Block
from seqmtl.scanning.writers.base import BoundaryWriter, FormattedBlock, LineWriter
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


class BedgraphWriter(BoundaryWriter):
    """bedGraph: one value per base where a site begins, merging runs of equal values.

    If sites on both strands begin at a base, the value is the larger one.
    """

    noun = "values"
    suffixes = (".bedgraph", ".bg", ".bdg")
    is_track = True
    preset = "bed"
    n_coordinates = 2

    def header(self) -> list[str]:
        """Return the header lines."""
        what, site = self.finder.description
        value = "raw score" if self.track.value == "score" else "probability"
        largest = f"# value: largest {value} of the {self.finder.at_a_base}"
        return [what, site + _COORDINATES, largest]

    def rows(self, sites: Sites) -> tuple[NDArray[Any], ...]:
        """Return starts, ends and values of runs."""
        sites = sites.in_order()
        return merge_values(sites.starts, self.values(sites))

    def interior(self, block: Block, rows: Sequence[NDArray[Any]]) -> slice:
        """Return the rows but the first and the last."""
        return slice(1, max(1, rows[0].size - 1))

    def merge_boundary(
        self, pending: list[tuple[Any, ...]], formatted: FormattedBlock
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Merge the first run with the last of the previous block."""
        merged: list[tuple[Any, ...]] = []
        for start, end, value in pending:
            if merged and merged[-1][1:] == (start, value):
                merged[-1] = (merged[-1][0], end, value)
            else:
                merged.append((start, end, value))
        return merged, len(merged) if formatted.tail else max(0, len(merged) - 1)

    def fields(self, contig: Field, rows: Sequence[NDArray[Any]]) -> Fields:
        """Return what the lines of rows are made of."""
        starts, ends, values = rows
        value = (
            probability_column(values)
            if self.track.value == "probability"
            else decimal_column(values)
        )
        return tabbed(contig, integer_column(starts), integer_column(ends), value)


def merge_values(
    starts: NDArray[np.int64], values: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return starts, ends and values of disjoint intervals, with the largest value per start.

    Consecutive starts with the same value become one interval.
    """
    values = values.copy()
    twice = np.flatnonzero(starts[1:] == starts[:-1])
    values[twice] = np.maximum(values[twice], values[twice + 1])
    starts, values = np.delete(starts, twice + 1), np.delete(values, twice + 1)
    if starts.size == 0:
        return starts, starts, values
    changes = (np.diff(starts) != 1) | (values[1:] != values[:-1])
    heads = np.concatenate([[0], np.flatnonzero(changes) + 1])
    tails = np.concatenate([heads[1:], [starts.size]]) - 1
    return starts[heads], starts[tails] + 1, values[heads]
