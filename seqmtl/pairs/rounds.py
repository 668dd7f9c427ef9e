"""What a round of learning without labels found, and counts of sites and introns by posterior."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.pairs.chain import Posteriors
from seqmtl.sequences.sites import Sites

LIKELY = 0.5  # least posterior of an intron, or of a site beside an exon, that is called
SURE = 0.9  # posterior of a sure call

#: Sites of each stretch of a genome, with their posteriors.
Weighed = list[tuple[Sites, Posteriors]]


class Round(NamedTuple):
    """What one round found.

    Attributes
    ----------
    expected : tuple of float
        Sums of the posteriors of donors and of acceptors in the sample.
    sure : tuple of int
        Donors and acceptors with a posterior of .9 or more.
    kept : float
        Share of the sure sites of the round before that still have a posterior of .5.
    backwards : float
        Introns expected in the sample read backwards, for each expected forwards.
    shortest, middle, longest : int
        Bases of the introns considered, and of the median one called.
    moved : float
        Size of the change of the site models' weights, for that of the relatives' weights.
    """

    expected: tuple[float, float]
    sure: tuple[int, int]
    kept: float
    backwards: float
    shortest: int
    middle: int
    longest: int
    moved: float

    @property
    def net(self) -> float:
        """Expected number of sites, less those that are there by chance."""
        return sum(self.expected) * (1 - self.backwards)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a model file has them."""
        return {
            name: [*map(float, value)] if isinstance(value, tuple) else value
            for name, value in self._asdict().items()
        }

    @classmethod
    def of_dict(cls, values: dict[str, Any]) -> Round:
        """Return the round with the values of :meth:`to_dict`."""
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        return cls(**known)


def expected_sites(weighed: Weighed) -> tuple[float, float]:
    """Return the expected number of donors and of acceptors."""
    sums = np.zeros(2)
    for sites, found in weighed:
        sums += np.bincount(sites["signals"], np.exp(found.sites), minlength=2)
    return float(sums[0]), float(sums[1])


def likely_sites(weighed: Weighed) -> float:
    """Return the expected number of true sites among those more likely than not."""
    every = np.concatenate([np.exp(found.sites) for _, found in weighed])
    return float(every[every >= LIKELY].sum())


def sure_sites(weighed: Weighed) -> tuple[int, int]:
    """Return the number of donors and of acceptors that are called."""
    n = np.zeros(2, dtype=np.int64)
    for sites, found in weighed:
        n += np.bincount(sites["signals"][np.exp(found.sites) >= SURE], minlength=2)
    return int(n[0]), int(n[1])


def called_lengths(weighed: Weighed) -> NDArray[np.int64]:
    """Return the lengths of the introns called."""
    own = [np.diff(sites["places"][found.introns], axis=1)[:, 0] for sites, found in weighed]
    return np.concatenate([np.zeros(0, dtype=np.int64), *own])
