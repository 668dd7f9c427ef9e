"""Filters of sites other than consensus and minimum score."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_number

if TYPE_CHECKING:
    from seqmtl.scan.site_block import SiteBlock

#: Size of the bins in which the best sites are kept, in bases.
TOP_BASES = 1_000_000

Probability = Callable[[NDArray[np.float64]], NDArray[np.float64]]
Regions = Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]


@dataclass(frozen=True)
class SiteFilters:
    """Filters of sites, applied in the order of this list.

    Parameters
    ----------
    contigs : collection of str, optional
        Contigs to scan. Default: all.
    regions : mapping of str to (starts, ends), optional
        Keep sites whose interval starts in one of these, see
        :func:`seqmtl.io.rows.read_regions`; contigs without a region are not scanned.
    skip_lower : bool
        Drop sites that overlap a lower-case (soft-masked) letter.
    min_probability : float, optional
        Minimum probability; requires `probability`.
    probability : callable, optional
        Converts raw scores, float64, to probabilities.
    top : int, optional
        Keep at most this many sites in every bin of :data:`TOP_BASES` bases of a contig, over
        both strands; ties go to the one that starts first, plus before minus.

    Raises
    ------
    ValueError
        If `top` is below 1, or `min_probability` is not between 0 and 1 or given without
        `probability`.
    """

    contigs: Collection[str] | None = None
    regions: Regions | None = None
    skip_lower: bool = False
    min_probability: float | None = None
    probability: Probability | None = None
    top: int | None = None

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise ValueError(f"top must be at least 1, got {self.top}")
        if self.min_probability is not None:
            if self.probability is None:
                raise ValueError("min_probability needs probability; give the function")
            check_number("min_probability", self.min_probability, least=0, most=1)

    @property
    def scanned(self) -> Collection[str] | None:
        """Selected contigs that have a region, if there are regions; None for all."""
        if self.regions is None:
            return self.contigs
        return {name for name in self.regions if self.contigs is None or name in self.contigs}

    def in_regions(self, contig: str, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which positions of a contig are in a region."""
        assert self.regions is not None
        if contig not in self.regions:
            return np.zeros(starts.size, dtype=bool)
        begins, ends = self.regions[contig]
        before = np.searchsorted(begins, starts, side="right") - 1
        return (before >= 0) & (starts < ends[np.maximum(before, 0)])

    def is_probable(self, scores: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Tell which scores have at least the minimum probability."""
        assert self.probability is not None
        assert self.min_probability is not None
        return np.asarray(self.probability(scores.astype(np.float64))) >= self.min_probability


def keep_top(blocks: Sequence[SiteBlock], top: int) -> list[SiteBlock]:
    """Keep the best sites of every bin; there is one block per strand, with complete bins."""
    starts = np.concatenate([block.starts for block in blocks])
    scores = np.concatenate([block.scores for block in blocks])
    is_reverse = np.concatenate([block.is_reverse for block in blocks])
    bins = starts // TOP_BASES
    order = np.lexsort((is_reverse, starts, -scores, bins))
    ordered = bins[order]
    heads = np.searchsorted(ordered, ordered, side="left")
    passing = np.zeros(starts.size, dtype=bool)
    passing[order[np.arange(starts.size) - heads < top]] = True
    kept = []
    for block, mask in zip(
        blocks, np.split(passing, np.cumsum([b.starts.size for b in blocks])[:-1]), strict=True
    ):
        removed = {**block.removed, "top": int(np.count_nonzero(~mask))}
        kept.append(
            block._replace(
                starts=block.starts[mask],
                scores=block.scores[mask],
                is_reverse=block.is_reverse[mask],
                removed=removed,
            )
        )
    return kept
