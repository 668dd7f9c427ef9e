"""Exons of both haplotypes of an allele, compared."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from seqmtl.variant_effects.neighbourhoods import SitePosteriors

#: First and last base of an exon on the forward strand, and its strand: 0 plus, 1 minus.
Exon = tuple[int, int, int]


#: An exon on the reference, and its log probability there and with the allele; NaN where it is not
#: listed.
Change = tuple[Exon, float, float]


def probability(log_p: float) -> float:
    """Return the probability, to six decimals; 0 for NaN."""
    return round(math.exp(log_p), 6) if log_p == log_p else 0.0


def delta(change: Change) -> float:
    """Return the change of the probability of an exon."""
    _, before, after = change
    return probability(after) - probability(before)


def exons_of(candidates: SitePosteriors, low: int, high: int) -> dict[Exon, float]:
    """Return the log probabilities of the exons with a base among low..high-1.

    Those between introns of different classes are one.
    """
    sites, posteriors = candidates
    bounds = sites["places"][posteriors.exons]
    rows = np.flatnonzero((bounds[:, 1] > low) & (bounds[:, 0] < high))
    strands = sites.is_reverse[posteriors.exons[rows, 0]].astype(int)
    columns = bounds[rows, 0], bounds[rows, 1] - 1, strands, posteriors.exon_values[rows]
    exons: dict[Exon, float] = {}
    for first, last, strand, log_p in zip(*map(np.ndarray.tolist, columns), strict=True):
        key = first, last, strand
        exons[key] = float(np.logaddexp(exons[key], log_p)) if key in exons else log_p
    return exons


def compare_exons(
    before: Mapping[Exon, float], after: Mapping[Exon, float], zone: int, m: int, n: int
) -> list[Change]:
    """Return the changes of all exons of the reference and of the alternative.

    The exons correspond whose first and last bases do. The alternative has n bases from `zone` on
    where the reference has m; the bases without counterpart are placed so that the larger of gain
    and loss is smallest, then the smaller, as by
    :class:`seqmtl.variant_effects.effects.EffectScorer`.
    """
    longest = min(m, n) if m != n else 0
    gaps = {0, longest}
    if longest:
        ends = {end - zone for exon in (*before, *after) for end in exon[:2]}
        gaps |= {end + k - distance for end in ends for k in (0, 1) for distance in (0, abs(n - m))}
    candidates = [
        _pairs(before, after, zone + gap, n - m) for gap in sorted(gaps) if 0 <= gap <= longest
    ]
    return min(candidates, key=_size)


def _pairs(
    before: Mapping[Exon, float], after: Mapping[Exon, float], gap: int, grown: int
) -> list[Change]:
    """Return the changes if `grown` bases are inserted at `gap`, or deleted if below 0."""

    def on_reference(end: int) -> int:
        return end if end < gap else max(end - grown, gap - (grown > 0))

    changes: list[Change] = []
    remaining = dict(before)
    for (first, last, strand), log_p in after.items():
        is_new = gap <= first < gap + grown or gap <= last < gap + grown
        on_ref = on_reference(first), on_reference(last), strand
        changes.append((on_ref, np.nan if is_new else remaining.pop(on_ref, np.nan), log_p))
    changes += [(exon, log_p, np.nan) for exon, log_p in remaining.items()]
    return sorted(changes, key=lambda change: change[0])


def _size(changes: list[Change]) -> tuple[float, float, float]:
    """Return the larger and the smaller of gain and loss, and the gain."""
    deltas = [*map(delta, changes)]
    gain = max([0.0, *deltas])
    loss = max([0.0, *(-delta for delta in deltas)])
    return max(gain, loss), min(gain, loss), gain
