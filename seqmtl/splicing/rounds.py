"""Summary of a round of self-training, and counts of sites and introns by posterior."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._schema import items, number
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.chain import Posteriors, with_letters
from seqmtl.splicing.layer import PairLayer

LIKELY = 0.5  # least posterior of an intron, or of a site beside an exon, that is called
HIGH = 0.9  # least posterior of a call that is almost certain

_LOG_ODDS = np.linspace(-50.0, 50.0, 1_001)  # of sites, at which sums of posteriors are compared

_size = number(min_val=0)
_TWO = items(_size, 2, max_items=2)

#: Sites of each stretch of a genome, with their posteriors.
SitePosteriors = list[tuple[Sites, Posteriors]]


class SelfTrainingRound(NamedTuple):
    """Summary of one round.

    Attributes
    ----------
    expected : tuple of float
        Sums of the posteriors of donors and of acceptors in the sample.
    likely : float
        That of the sites which are more likely than not.
    n_p90 : tuple of int
        Donors and acceptors with a posterior of 0.9 or more.
    reversed_rate : float
        Introns expected in the reversed sample, per intron expected in the sample.
    shortest, median, longest : int
        Bases of the shortest intron considered, of the median one called, and of the length that
        99.5 % of the introns do not exceed.
    """

    expected: Annotated[tuple[float, float], _TWO]
    likely: Annotated[float, _size]
    n_p90: Annotated[tuple[int, int], _TWO]
    reversed_rate: Annotated[float, _size]
    shortest: int
    median: int
    longest: int

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a model file has them."""
        return {
            name: [*map(float, value)] if isinstance(value, tuple) else value
            for name, value in self._asdict().items()
        }


def expected_sites(posteriors: SitePosteriors) -> tuple[float, float]:
    """Return the expected number of donors and of acceptors."""
    sums = np.zeros(2)
    for sites, chain in posteriors:
        sums += np.bincount(sites["signals"], np.exp(chain.sites), minlength=2)
    return float(sums[0]), float(sums[1])


def least_log_odds(
    posteriors: SitePosteriors, layer: PairLayer, share: float
) -> tuple[float, float]:
    """Return the log-odds of donors and of acceptors below which a share of them is expected."""
    sums = np.zeros((2, _LOG_ODDS.size + 1))
    for sites, chain in posteriors:
        rows = np.searchsorted(_LOG_ODDS, with_letters(sites, layer), side="right")
        for signal in range(2):
            of_signal = (sites["signals"] == signal) & ~sites["is_u12"]
            p = np.exp(chain.sites[of_signal])
            sums[signal] += np.bincount(rows[of_signal], p, minlength=_LOG_ODDS.size + 1)
    below = np.cumsum(sums, axis=1)
    first = [int(np.searchsorted(of, share * of[-1])) - 1 for of in below]
    return float(_LOG_ODDS[max(first[0], 0)]), float(_LOG_ODDS[max(first[1], 0)])


def likely_sites(posteriors: SitePosteriors) -> float:
    """Return the expected number of true sites among those more likely than not."""
    every = np.concatenate([np.exp(chain.sites) for _, chain in posteriors])
    return float(every[every >= LIKELY].sum())


def high_sites(posteriors: SitePosteriors) -> tuple[int, int]:
    """Return the number of donors and of acceptors with a posterior of 0.9 or more."""
    n = np.zeros(2, dtype=np.int64)
    for sites, chain in posteriors:
        n += np.bincount(sites["signals"][np.exp(chain.sites) >= HIGH], minlength=2)
    return int(n[0]), int(n[1])


def listed_lengths(posteriors: SitePosteriors) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the lengths of the introns that the chain listed, and their posteriors."""
    lengths = [np.diff(sites["places"][chain.introns], axis=1)[:, 0] for sites, chain in posteriors]
    values = [np.exp(chain.intron_values) for _, chain in posteriors]
    none = np.zeros(0, dtype=np.int64), np.zeros(0)
    return np.concatenate([none[0], *lengths]), np.concatenate([none[1], *values])
