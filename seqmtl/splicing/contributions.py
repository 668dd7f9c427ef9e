"""What contributes to the probability of a donor or an acceptor in a paired model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.genome import ContigPiece
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.chain import either_class, run_chain, to_log_odds
from seqmtl.splicing.finder import PairedFinder
from seqmtl.splicing.layer import ENDS, PairLayer

_REMOVED = -1e9  # log-odds of a site that no parse takes
_SHARE = 0.01  # introns of a site that are listed, of its probability
_MAX_INTRONS = 5  # introns listed
_EVEN = 1e-9  # fall of the log density of long introns of equal probability
_NEAR = 60  # bases; farther away are the sites of other introns of the gene, which support this one


class SiteContributions(NamedTuple):
    """A site of a paired model, and by how much the log-odds drop without each of what it sees.

    Attributes
    ----------
    signal : {"donor", "acceptor"}
        What the site is.
    alone, paired : float
        Log-odds of the site by its site model, and of its posterior probability. A site of a
        U12-type intron, if that is more probable, has log-odds at equal numbers of both.
    partner_alone : float
        Log-odds of the other end of the most probable intron by its site model; NaN without one.
    site, partner : float
        What these two log-odds contribute, against those of any candidate: the prevalence.
    length : float
        What the lengths of introns contribute, against equal probability of all.
    upstream, downstream : float
        What the coding content before and after the site contributes, in reading direction.
    rivals : float
        What the other candidates of the signal on the same strand contribute that are at most 60
        bases away; mostly negative.
    introns : list of tuple (int, int, float)
        Start, end and probability of the most probable introns of the site, the best first.
    """

    signal: str
    alone: float
    paired: float
    partner_alone: float
    site: float
    partner: float
    length: float
    upstream: float
    downstream: float
    rivals: float
    introns: list[tuple[int, int, float]]


def explain_site(
    finder: PairedFinder,
    codes: NDArray[np.uint8],
    start: int,
    is_reverse: bool,
    prevalences: tuple[float, float],
) -> SiteContributions | None:
    """Return what contributes to the log-odds of a site; None if it is no candidate.

    Each contribution is the log-odds of the posterior less that without the one thing in question.
    The contributions are not additive.

    Parameters
    ----------
    finder : PairedFinder
        Of a model and organism.
    codes : ndarray of uint8
        The contig.
    start : int
        First base of the site on the forward strand.
    is_reverse : bool
        Whether it is on the minus strand.
    prevalences : tuple of float, two
        Shares of true sites among the candidates of donors and of acceptors.
    """
    begin, end = start - finder.margin, start + finder.margin
    first = max(0, begin - finder.margin)
    piece = ContigPiece("", first, codes[first : end + finder.margin])
    sites, _ = finder.posteriors(piece, begin, end)
    is_here = (sites.starts == start) & (sites.is_reverse == is_reverse)
    rows = np.flatnonzero(is_here & (sites["signals"] < len(ENDS)))
    if not rows.size:
        return None
    row = int(rows[sites["log_p"][rows].argmax()])
    priors = [float(np.log(share) - np.log1p(-share)) for share in prevalences]
    priors = [0.0, 0.0] if sites["is_u12"][row] else priors
    return _explain(sites, finder.layer, row, priors, first)


def _explain(
    sites: Sites, layer: PairLayer, row: int, priors: list[float], origin: int
) -> SiteContributions:
    """Explain a row of the sites, whose places count from `origin`."""
    places, k = sites["places"], int(sites["signals"][row])

    def log_odds(changed: Sites = sites, layer: PairLayer = layer) -> float:
        log_p = either_class(changed, run_chain(changed, layer).sites)
        return float(to_log_odds(log_p[[row]])[0])

    def without(column: str, rows: NDArray[np.bool_], value: Any) -> float:
        """Return the log-odds less those with a value in some rows of a column."""
        rows = rows.reshape(-1, *[1] * (sites[column].ndim - 1))
        return paired - log_odds(sites.adding(**{column: np.where(rows, value, sites[column])}))

    paired = log_odds()
    rows = np.arange(len(sites))
    chain = run_chain(sites, layer, _SHARE / (1.0 + np.exp(-max(paired, -600.0))))
    introns = np.flatnonzero((chain.introns == row).any(axis=1))
    introns = introns[np.argsort(-chain.intron_values[introns], kind="stable")][:_MAX_INTRONS]
    bounds = (places[chain.introns[introns]] + origin).tolist()
    shares = np.exp(chain.intron_values[introns]).tolist()
    partner = int(chain.introns[introns[0]].sum()) - row if introns.size else -1
    left, right = (
        without("content", side, sites["content"][row]) for side in (rows <= row, rows > row)
    )
    near = np.abs(places - places[row]) <= _NEAR
    alike = (sites.is_reverse == sites.is_reverse[row]) & (sites["signals"] == k)
    even = -np.log(max(layer.introns.size, layer.span))
    without_lengths = layer._replace(
        introns=np.full(layer.introns.size, even),
        tails=np.array([[even, _EVEN]][: len(layer.tails)]).reshape(-1, 2),
    )
    return SiteContributions(
        ENDS[k],
        float(sites["log_odds"][row]),
        paired,
        float(sites["log_odds"][partner]) if introns.size else np.nan,
        without("log_odds", rows == row, priors[k]),
        without("log_odds", rows == partner, priors[1 - k]) if introns.size else np.nan,
        paired - log_odds(layer=without_lengths),
        right if sites.is_reverse[row] else left,
        left if sites.is_reverse[row] else right,
        without("log_odds", near & alike & (places != places[row]), _REMOVED),
        [(*pair, share) for pair, share in zip(bounds, shares, strict=True)],
    )
