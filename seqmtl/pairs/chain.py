"""A semi-Markov chain of exons and introns over the candidate sites of one strand.

A parse of a strand is a set of introns that do not overlap, from a donor to an acceptor each. Its
weight is the product over its introns of ``exp(scale (s_d + s_a) + shift) g(length)``, where s are
the log-odds of the two sites and g is the density of intron lengths, and over its inner exons of
``h(length) ** exon_scale``. The posterior probability of a site is the share of the parses that
contain it, by weight. (Generalized hidden Markov models of gene finders; with SVM detectors:
Schweikert et al., 2009.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.models.paired import PairLayer
from seqmtl.pairs._chain_kernels import list_introns, sum_parses

_CERTAIN = -1e-12  # log of the largest probability
_STRONGEST = 200.0  # log of the largest weight of a site
_HOPELESS = -700.0  # log of the smallest probability
_ROUNDING = 1e-6  # of logarithms of sums over parses, at most


class Sites(NamedTuple):
    """Candidate sites of one signal on one strand, in reading direction.

    Attributes
    ----------
    places : ndarray of int64, shape (n,)
        Rising coordinates in reading direction: of a donor, the bases before the intron; of an
        acceptor, the bases up to and including the intron.
    log_odds : ndarray of float64, shape (n,)
        Log-odds of a true site.
    """

    places: NDArray[np.int64]
    log_odds: NDArray[np.float64]


class Posteriors(NamedTuple):
    """Logarithms of posterior probabilities.

    Attributes
    ----------
    donors, acceptors : ndarray of float64
        Of each site.
    introns : ndarray of int64, shape (m, 2)
        Index of donor and acceptor of each listed intron, by acceptor.
    intron_values : ndarray of float64, shape (m,)
        Of each listed intron.
    """

    donors: NDArray[np.float64]
    acceptors: NDArray[np.float64]
    introns: NDArray[np.int64]
    intron_values: NDArray[np.float64]


def reading_places(
    starts: NDArray[np.int64], site_length: int, is_reverse: bool, is_donor: bool
) -> NDArray[np.int64]:
    """Return the coordinates of sites in reading direction, as in :class:`Sites`.

    Parameters
    ----------
    starts : ndarray of int64, shape (n,)
        First base of each site on the forward strand.
    site_length : int
        Bases of a site.
    is_reverse : bool
        Whether the sites are on the minus strand; their coordinates are negative then, and fall
        with the starts.
    is_donor : bool
        Whether the sites are donors, or else acceptors.
    """
    edge = starts + site_length * (is_donor == is_reverse)
    return -edge if is_reverse else edge


def run_chain(
    donors: Sites, acceptors: Sites, layer: PairLayer, min_probability: float | None = None
) -> Posteriors:
    """Return the posterior probabilities of the sites of one strand, and of introns on request.

    Time is linear in the number of sites times that of the partners within the longest intron.

    Parameters
    ----------
    donors, acceptors : Sites
        Candidates on the same strand of one contig, or part of one.
    layer : PairLayer
        Scales and length distributions of the organism.
    min_probability : float, optional
        List the introns of at least this posterior probability. Default: none.
    """
    donor_scores = _weighable(layer.scale * donors.log_odds + layer.shift)
    acceptor_scores = _weighable(layer.scale * acceptors.log_odds)
    lengths = layer.shortest, np.exp(layer.introns), np.exp(layer.gap_weights())
    n, m = donors.places.size, acceptors.places.size
    before, through, after, back = np.empty(n), np.empty(m), np.empty(m), np.empty(n)
    space = np.empty(n), np.empty(m)
    columns = (donors.places, np.exp(donor_scores), acceptors.places, np.exp(acceptor_scores))
    total = sum_parses(*columns, *lengths, before, through, *space)
    starts, start_weights, ends, end_weights = (
        np.ascontiguousarray(column[::-1]) for column in columns
    )
    sum_parses(-ends, end_weights, -starts, start_weights, *lengths, after, back, *space[::-1])
    after, back = after[::-1], back[::-1]
    places, values = np.empty((0, 2), dtype=np.int64), np.empty(0)
    if min_probability is not None:
        floor = np.log(min_probability) + total
        # a site is at least as probable as any of its introns
        first = np.flatnonzero(before + back >= floor - _ROUNDING)
        second = np.flatnonzero(through + after >= floor - _ROUNDING)
        known = (
            donors.places[first], (before + donor_scores)[first],
            acceptors.places[second], (after + acceptor_scores)[second],
        )  # fmt: skip
        n = list_introns(*known, layer.shortest, layer.introns, floor, places, values)
        places, values = np.empty((n, 2), dtype=np.int64), np.empty(n)
        list_introns(*known, layer.shortest, layer.introns, floor, places, values)
        places = np.column_stack([first[places[:, 0]], second[places[:, 1]]])
    return Posteriors(
        _bounded(before + back - total),
        _bounded(through + after - total),
        places,
        _bounded(values - total),
    )


def to_log_odds(log_p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert logarithms of probabilities, as in :class:`Posteriors`, to log-odds."""
    return log_p - np.log(-np.expm1(log_p))


def _weighable(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound scores so that the product of three weights does not overflow."""
    return np.clip(scores, -_STRONGEST, _STRONGEST)


def _bounded(log_p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound probabilities away from 0 and 1, for their log-odds."""
    return np.clip(log_p, _HOPELESS, _CERTAIN)
