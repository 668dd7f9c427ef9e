"""Second log-odds of splice sites, by a small network that sees the surroundings of each candidate.

A model of sites is linear, and its window is short. What else makes a site of a vertebrate likely
is not additive: an acceptor at the other end of the exon, coding sequence on one side only, the
local share of G and C, rivals near by. The chain sees a part of this. So the log-odds of both site
models become those of a network

    z = w' max(0, V' x + v) + b

of the numbers x of a candidate, each less its mean and divided by its spread, see
:func:`surroundings`. It is trained on candidates that the site models were not trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._blas import threadpool_limits
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.coding_loops import sum_content
from seqmtl.splicing.layer import ENDS, N_NUMBERS, N_UNITS, Network, PairLayer
from seqmtl.splicing.rescoring_loops import (
    count_stronger,
    find_strongest,
    sum_introns,
    sum_partners,
)

_C, _G, _T = 1, 2, 3
_GC_BESIDE = (50, 150, 600)  # bases on one side of a site
_GC_AROUND = (3_000, 20_000)  # on either side
_CPG = 500
_LETTERS = 100
_CODING = (40, 80, 130, 200)
_GAP = 100  # bases in which one frame is compared with the next
_FACTOR = 0.2  # of the content of an exon
_LONGEST_INTRON, _NEAR = 20_000, 1_000  # bases
_LONGEST_EXON = 600
_SHORTEST_EXON = 20
_RARE, _RAREST = 1e-6, 1e-12  # densities of lengths that are not in the tables
_BESIDE, _ABOUT, _IN_REACH = 40, 300, 1_000  # bases to rivals
_LOWEST = -14.0  # of logarithms
_HOPELESS = -30.0  # log-odds of the sites that are not rescored
_PARTS = 4  # of a network, which are trained from different random weights
_EPOCHS, _BATCH = 10, 1_000
_RATE, _DECAY = 2e-3, 1e-6  # of Adam; of weights, per example of a batch
_MOMENTS = (0.9, 0.999)
_LOST = 0.01  # share of the expected true sites that are not rescored


class Surroundings(NamedTuple):
    """Numbers of the candidates of a signal.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        Rows of the candidates among the sites of a chain.
    numbers : ndarray of float32, shape (n, 36)
        Numbers of each.
    """

    rows: NDArray[np.int64]
    numbers: NDArray[np.float32]


class _Strand(NamedTuple):
    """Candidates of a signal and strand in reading direction; `content` is (n, 3)."""

    rows: NDArray[np.int64]
    forward: NDArray[np.int64]
    places: NDArray[np.int64]
    log_odds: NDArray[np.float64]
    content: NDArray[np.float64]


class _Stretch:
    """Letters of a stretch, and sums over them up to every base or place."""

    def __init__(self, codes: NDArray[np.uint8], coding: NDArray[np.float32]) -> None:
        self.size = codes.size
        self._codes = codes
        self._coding = np.ascontiguousarray(coding.T)
        cpg = np.append((codes[:-1] == _C) & (codes[1:] == _G), False)[: codes.size]
        self.clean, self.gc, self.cpg, self.a, self.c, self.t = (
            np.concatenate([[0], np.cumsum(of)])
            for of in (
                codes <= _T,
                (codes == _C) | (codes == _G),
                cpg,
                codes == 0,
                codes == _C,
                codes == _T,
            )
        )

    def content(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the coding content of the bases before each place, in six frames."""
        order = np.argsort(places, kind="stable")
        content = np.empty((places.size + 1, 6))
        sum_content(self._codes, np.append(0, places[order]), self._coding, content)
        sums = np.empty((places.size, 6))
        sums[order] = content[1:]
        return sums

    def share(
        self, sums: NDArray[np.int64], places: NDArray[np.int64], low: int, high: int
    ) -> NDArray[np.float64]:
        """Return the share of some letters in the bases low..high-1 after each place."""
        first, last = (np.clip(places + by, 0, self.size) for by in (low, high))
        return (sums[last] - sums[first]) / np.maximum(1, self.clean[last] - self.clean[first])


def surroundings(
    sites: Sites,
    codes: NDArray[np.uint8],
    layer: PairLayer,
    least: Sequence[float],
    stretches: NDArray[np.int64] | None = None,
) -> list[Surroundings]:
    """Describe the candidates of donors and of acceptors.

    Parameters
    ----------
    sites : Sites
        Candidates, as :func:`seqmtl.splicing.chain.join_ends` returns them; those of U12-type
        introns are left out.
    codes : ndarray of uint8
        Letters of the stretches.
    layer : PairLayer
        Lengths of introns and exons, and coding content.
    least : sequence of float, two
        Least log-odds of a donor and of an acceptor; others count as nothing.
    stretches : ndarray of int64, shape (m, 2), optional
        First base of each stretch in `codes`, and the base after its last one. Default: all.

    Returns
    -------
    list of Surroundings
        Of donors and of acceptors. The numbers, from the site in reading direction where e is the
        side of the exon and i that of the intron, are: log-odds; share of G and C in 50 e, 50 i,
        150 e, 150 i, 600 e, 600 i, 3,000 and 20,000 bases around; CG in 500 around; share of T and
        C in 100 e, and in 100 i; coding content in the best frame in 40, 80, 130, 200 e and i, and
        by how much it exceeds that of the next frame in 100 e; the five numbers of
        :func:`seqmtl.splicing.rescoring_loops.sum_partners`, the three of
        :func:`seqmtl.splicing.rescoring_loops.sum_introns`; the strongest other site of the signal
        within 40 and 300 bases, and the number of stronger ones within 1,000; the strongest
        site of each signal on the other strand within 300 bases.
    """
    if stretches is None:
        stretches = np.array([[0, codes.size]])
    bounds = np.searchsorted(sites["stretches"], np.arange(len(stretches) + 1)).tolist()
    parts: list[list[Surroundings]] = [[] for _ in ENDS]
    lengths = _log_lengths(layer)
    for (begin, end), first, last in zip(stretches.tolist(), bounds, bounds[1:], strict=False):
        of_stretch = sites.take(slice(first, last))
        stretch = _Stretch(codes[begin:end], layer.coding)
        for part, found in zip(parts, _describe(of_stretch, stretch, lengths, least), strict=True):
            part.append(Surroundings(found.rows + first, found.numbers))
    return [Surroundings(*map(np.concatenate, zip(*part, strict=True))) for part in parts]


def _log_lengths(layer: PairLayer) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log densities of the lengths of exons and of introns, from 0."""
    exons = np.zeros(_LONGEST_EXON)
    exons[: layer.exons.size] = layer.exons
    exons[:_SHORTEST_EXON] = 0.0
    introns = np.append(0.0, layer.density(_LONGEST_INTRON + 1)[:-1])
    return np.log(np.maximum(exons, _RARE)), np.log(np.maximum(introns, _RAREST))


def _describe(
    sites: Sites,
    stretch: _Stretch,
    lengths: tuple[NDArray[np.float64], NDArray[np.float64]],
    least: Sequence[float],
) -> list[Surroundings]:
    """Describe the candidates of one stretch."""
    strands = {
        (end, t): _on_strand(sites, stretch, end, t, least[end])
        for end, t in product(range(len(ENDS)), range(2))
    }
    return [
        Surroundings(
            np.concatenate([strands[end, t].rows for t in range(2)]),
            np.concatenate([_numbers(strands, stretch, lengths, end, t) for t in range(2)]),
        )
        for end in range(len(ENDS))
    ]


def _on_strand(sites: Sites, stretch: _Stretch, end: int, t: int, least: float) -> _Strand:
    is_own = (sites["signals"] == end) & (sites.is_reverse == bool(t)) & ~_is_u12(sites)
    rows = np.flatnonzero(is_own & (sites["log_odds"] >= least))
    rows = rows[::-1] if t else rows
    forward = sites["places"][rows]
    content = stretch.content(forward)[:, 3 * t : 3 * t + 3]
    sign = -1 if t else 1
    return _Strand(
        rows,
        forward,
        sign * forward,
        sites["log_odds"][rows],
        np.ascontiguousarray(sign * content),
    )


def _numbers(
    strands: dict[tuple[int, int], _Strand],
    stretch: _Stretch,
    lengths: tuple[NDArray[np.float64], NDArray[np.float64]],
    end: int,
    t: int,
) -> NDArray[np.float32]:
    """Return the numbers of the candidates of a signal on a strand."""
    own, other = strands[end, t], strands[1 - end, t]
    side, sign = (-1 if end == 0 else 1), (-1 if t else 1)  # of the exon; of reading
    n = own.rows.size
    if not n:
        return np.zeros((0, N_NUMBERS), dtype=np.float32)

    def share(sums: NDArray[np.int64], begin: int, last: int) -> NDArray[np.float64]:
        low, high = sorted((sign * begin, sign * last))
        return stretch.share(sums, own.forward, low, high)

    def coded(bases: int) -> NDArray[np.float64]:
        places = np.clip(own.forward + sign * bases, 0, stretch.size)
        content = sign * stretch.content(places)[:, 3 * t : 3 * t + 3] - own.content
        return content * np.sign(bases)

    sides = side, -side
    columns = [own.log_odds]
    columns += [share(stretch.gc, 0, e * bases) for bases in _GC_BESIDE for e in sides]
    columns += [share(stretch.gc, -bases, bases) for bases in _GC_AROUND]
    columns.append(share(stretch.cpg, -_CPG, _CPG))
    t_and_c = (stretch.a, stretch.gc - stretch.c) if t else (stretch.t, stretch.c)
    columns += [share(sums, 0, e * _LETTERS) for e in sides for sums in t_and_c]
    columns += [coded(e * bases).max(axis=1) for e in sides for bases in _CODING]
    best = np.sort(coded(side * _GAP), axis=1)
    columns.append(best[:, 2] - best[:, 1])
    partners, introns = np.empty((n, 5)), np.empty((n, 3))
    of_other = np.column_stack([other.log_odds, other.content])
    sum_partners(
        own.places, own.content, other.places, of_other, side, lengths[0], _FACTOR, partners
    )
    partners[:, 2] = np.log1p(partners[:, 2])
    partners[:, [0, 1, 3, 4]] = np.maximum(partners[:, [0, 1, 3, 4]], _LOWEST)
    sum_introns(own.places, other.places, other.log_odds, -side, lengths[1], _NEAR, introns)
    columns += [*partners.T, *np.maximum(introns, _LOWEST).T]
    numbers = np.empty((5, n))
    for k, reach in enumerate((_BESIDE, _ABOUT)):
        find_strongest(own.places, own.places, own.log_odds, reach, True, numbers[k])
    count_stronger(own.places, own.log_odds, _IN_REACH, numbers[2])
    for k, across in ((3, strands[end, 1 - t]), (4, strands[1 - end, 1 - t])):
        # in the direction of this strand
        places, log_odds = -across.places[::-1].copy(), across.log_odds[::-1].copy()
        find_strongest(own.places, places, log_odds, _ABOUT, False, numbers[k])
    numbers[2] = np.log1p(numbers[2])
    columns += [*np.maximum(numbers, _LOWEST)]
    return np.column_stack(columns).astype(np.float32)


def rescored(
    sites: Sites,
    codes: NDArray[np.uint8],
    layer: PairLayer,
    stretches: NDArray[np.int64] | None = None,
) -> Sites:
    """Return sites with the second log-odds, if the layer has networks.

    Parameters
    ----------
    sites, codes, layer, stretches
        See :func:`surroundings`.
    """
    if not layer.networks:
        return sites
    least = [network.least for network in layer.networks]
    return with_log_odds(sites, surroundings(sites, codes, layer, least, stretches), layer.networks)


def with_log_odds(
    sites: Sites, described: Sequence[Surroundings], networks: Sequence[Network]
) -> Sites:
    """Return sites with the log-odds of networks; those that were not described have -30."""
    is_rescored = (sites["signals"] < len(ENDS)) & ~_is_u12(sites)
    log_odds = np.where(is_rescored, _HOPELESS, sites["log_odds"])
    for (rows, numbers), network in zip(described, networks, strict=True):
        log_odds[rows] = network.log_odds(numbers)
    return sites.adding(log_odds=log_odds)


def _is_u12(sites: Sites) -> NDArray[np.bool_]:
    """Return which sites are of U12-type introns, which have no second log-odds."""
    return sites.columns.get("is_u12", np.zeros(len(sites), dtype=np.bool_))


def least_rescored(log_odds: NDArray[np.float64]) -> float:
    """Return the log-odds below which 1 % of the true sites are expected."""
    logs = np.sort(log_odds)
    below = np.cumsum(1 / (1 + np.exp(-logs)))
    return float(logs[int(np.searchsorted(below, _LOST * below[-1]))])


def train_network(
    numbers: NDArray[np.float32], is_true: NDArray[np.bool_], least: float
) -> Network:
    """Train a network on candidates: the mean of four of 32 units with different random weights.

    Each minimizes the logistic loss by Adam, in ten epochs.

    Parameters
    ----------
    numbers : ndarray of float32, shape (n, 36)
        Numbers of candidates.
    is_true : ndarray of bool, shape (n,)
        Which are true sites.
    least : float
        Least log-odds of the site model that they have.
    """
    mean, spread = numbers.mean(axis=0, dtype=np.float64), numbers.std(axis=0, dtype=np.float64)
    spread = np.maximum(spread, _RARE)
    x = ((numbers - mean) / spread).astype(np.float32)
    with threadpool_limits(1):  # threads of BLAS take a hundred times as long on such small batches
        parts = [_train_part(x, is_true, np.random.default_rng(seed)) for seed in range(_PARTS)]
    hidden, shifts, output, bias = zip(*parts, strict=True)
    return Network(
        least,
        mean.astype(np.float32),
        spread.astype(np.float32),
        np.concatenate(hidden, axis=1),
        np.concatenate(shifts),
        (np.concatenate(output) / _PARTS).astype(np.float32),
        np.mean(bias, axis=0, dtype=np.float32),
    )


def _train_part(
    x: NDArray[np.float32], is_true: NDArray[np.bool_], rng: np.random.Generator
) -> list[NDArray[np.float32]]:
    """Return the weights in each unit, what is added there, that of each unit, and the bias."""
    y, n_units = is_true.astype(np.float32), N_UNITS // _PARTS
    rate = np.clip(is_true.mean(), _RARE, 1 - _RARE)
    weights = [
        part.astype(np.float32)
        for part in (
            rng.normal(0, np.sqrt(2 / N_NUMBERS), (N_NUMBERS, n_units)),
            np.zeros(n_units),
            rng.normal(0, np.sqrt(1 / n_units), n_units),
            np.array([np.log(rate / (1 - rate))]),
        )
    ]
    moments = [[np.zeros_like(part) for part in weights] for _ in _MOMENTS]
    step = 0
    for _ in range(_EPOCHS):
        order = rng.permutation(y.size)
        for first in range(0, y.size, _BATCH):
            rows, step = order[first : first + _BATCH], step + 1
            slopes = _slopes(weights, x[rows], y[rows])
            for part, slope, mean_slope, square in zip(weights, slopes, *moments, strict=True):
                mean_slope += (1 - _MOMENTS[0]) * (slope - mean_slope)
                square += (1 - _MOMENTS[1]) * (slope**2 - square)
                fall = _RATE * np.sqrt(1 - _MOMENTS[1] ** step) / (1 - _MOMENTS[0] ** step)
                part -= fall * mean_slope / (np.sqrt(square) + 1e-8)
    return weights


def _slopes(
    weights: Sequence[NDArray[np.float32]], x: NDArray[np.float32], y: NDArray[np.float32]
) -> list[NDArray[np.float32]]:
    """Return the gradient of the mean logistic loss of a batch, and of the decay of weights."""
    hidden, shifts, output, bias = weights
    units = np.maximum(x @ hidden + shifts, 0)
    log_odds = units @ output + bias
    slope = (1 / (1 + np.exp(-np.clip(log_odds, _HOPELESS, -_HOPELESS))) - y) / y.size
    back = np.outer(slope, output) * (units > 0)
    return [
        x.T @ back + _DECAY * hidden,
        back.sum(axis=0),
        units.T @ slope + _DECAY * output,
        slope.sum(keepdims=True),
    ]
