"""Judge given introns: the probability that both ends of each are where the file says.

An annotation already says that there is an intron, and about where. So the chain (see
:mod:`seqmtl.splicing.chain`) sees only the candidates within 100 bases of the ends of a
transcript's introns, donors near donors and acceptors near acceptors, and introns weigh e^6 times
as much as in a genome. With p the posterior probability of an intron in this chain, its probability
is ``20 p / (20 p + 1 - p)``: the ends in a file are right 20 times for each time that one is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order
from seqmtl.io.genome import ContigPiece
from seqmtl.io.intron_chains import probability_text
from seqmtl.io.junctions import IntronChain
from seqmtl.io.transcripts import Segment
from seqmtl.sequences.alphabet import decode, reverse_complement
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.chain import run_chain
from seqmtl.splicing.coding import GC_REACH, WORD
from seqmtl.splicing.finder import PairedFinder
from seqmtl.splicing.layer import PairLayer

#: An intron of less probability is doubtful.
DOUBTFUL = 0.1
#: Bases of a contig whose transcripts are judged at a time; one transcript may have more.
LOCUS = 500_000

_REACH = 100  # bases from an end to its alternatives
_CLAIM = 6.0  # log weight of an intron where a file has one
_ODDS = 20.0  # that the ends in a file are right
_SHORTEST = 20  # bases of an intron
_RARE = -5.0  # log of how rare lengths below the shortest of the model are, beside it
_LISTED = 1e-4  # posterior probability that counts as more than 0


class JudgedChain(NamedTuple):
    """The introns of a chain as judged.

    Attributes
    ----------
    chain : IntronChain
        The chain; its strand is that of the more probable introns if the file does not say.
    probabilities : ndarray of float64, shape (n,)
        Of each intron by position; 0 if an end lacks the letters of a site, NaN if the window of
        an end is not on the contig.
    log_odds : ndarray of float64, shape (n, 2)
        Of the donor and the acceptor by their models alone; NaN if they are no candidates.
    letters : tuple of str
        The first two and the last two letters in reading direction: ``GT-AG``.
    alternatives : tuple of (int, int) or None
        The most probable other intron that overlaps each, if it is more probable than this.
    """

    chain: IntronChain
    probabilities: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    letters: tuple[str, ...]
    alternatives: tuple[Segment | None, ...]

    def texts(self) -> list[str]:
        """Return the probabilities as text, in reading direction."""
        texts = [probability_text(p) for p in self.probabilities.tolist()]
        return texts[::-1] if self.chain.strand == "-" else texts


def judge_introns(
    finder: PairedFinder, contig: ContigPiece, chains: Sequence[IntronChain]
) -> Iterator[JudgedChain]:
    """Judge the introns of a contig.

    Parameters
    ----------
    finder : PairedFinder
        Finder of an organism.
    contig : ContigPiece
        The whole contig.
    chains : sequence of IntronChain
        Those on the contig, with at least one intron each.

    Yields
    ------
    JudgedChain
        By position of the chains.
    """
    yield from (
        judged
        for locus in in_order(partial(_judge_locus, finder, contig), [*_loci(chains)])
        for judged in locus
    )


def _loci(chains: Sequence[IntronChain]) -> Iterator[list[IntronChain]]:
    """Yield the chains by position, together as long as they fit into a piece of the contig.

    Pieces may overlap, so that one chain over many others, such as a false junction of reads, does
    not join them.
    """
    locus: list[IntronChain] = []
    begin = end = 0
    for chain in sorted(chains, key=lambda chain: chain.introns[0]):
        start, last = chain.start, chain.end
        if locus and max(end, last) - begin > LOCUS:
            yield locus
            locus = []
        if not locus:
            begin, end = start, last
        locus.append(chain)
        end = max(end, last)
    if locus:
        yield locus


class _Candidates:
    """Candidates of one strand and one end, by place."""

    def __init__(self, sites: Sites, is_reverse: bool, signal: int) -> None:
        self.rows = np.flatnonzero((sites.is_reverse == is_reverse) & (sites["signals"] == signal))
        self.places = sites["places"][self.rows]
        self._log_odds = sites["log_odds"][self.rows]

    def near(self, place: int) -> NDArray[np.int64]:
        """Return the rows of the candidates within reach of a place."""
        first, last = np.searchsorted(self.places, [place - _REACH, place + _REACH + 1])
        return self.rows[first:last]

    def log_odds(self, place: int) -> float:
        """Return the log-odds of the candidate at a place, of either class; NaN without one."""
        first, last = np.searchsorted(self.places, [place, place + 1])
        return float(self._log_odds[first:last].max()) if first < last else np.nan


def _judge_locus(
    finder: PairedFinder, contig: ContigPiece, chains: list[IntronChain]
) -> list[JudgedChain]:
    """Judge the chains of a locus."""
    flank = _REACH + finder.window
    begin = max(0, min(chain.start for chain in chains) - flank)
    end = min(contig.codes.size, max(chain.end for chain in chains) + flank)
    window = max(one.length for one in finder.finders)
    around = window + GC_REACH + WORD  # the coding content depends on it
    piece = contig.between(begin - around, end + around)
    sites = finder.candidates(piece, begin, end)
    sites = sites.adding(is_tandem=np.zeros(len(sites), dtype=np.bool_))
    candidates = {
        (is_reverse, signal): _Candidates(sites, is_reverse, signal)
        for is_reverse in (False, True)
        for signal in (0, 1)
    }
    tried = [
        (number, is_reverse)
        for number, chain in enumerate(chains)
        for is_reverse in (False, True)
        if chain.strand in (".", "+-"[is_reverse])
    ]
    places = [np.array(chains[number].introns) - piece.start for number, _ in tried]
    rows = [
        np.unique(
            np.concatenate(
                [
                    candidates[is_reverse, side ^ is_reverse].near(place)
                    for intron in bounds.tolist()
                    for side, place in enumerate(intron)
                ]
            )
        )
        for (_, is_reverse), bounds in zip(tried, places, strict=True)
    ]
    posteriors = _posteriors(finder, sites, rows)
    judged: dict[int, JudgedChain] = {}
    for k, ((number, is_reverse), bounds) in enumerate(zip(tried, places, strict=True)):
        chain = chains[number]._replace(strand="+-"[is_reverse])
        log_odds = np.array(
            [
                [candidates[is_reverse, side].log_odds(row[side ^ is_reverse]) for side in (0, 1)]
                for row in bounds.tolist()
            ]
        )
        p = np.empty(len(bounds))
        others: list[Segment | None] = []
        for row, (start, end) in enumerate(bounds.tolist()):
            p[row], other = _posterior_of(start, end, *posteriors[k])
            others.append(other and (other[0] + piece.start, other[1] + piece.start))
        p = _ODDS * p / (_ODDS * p + 1 - p)
        at_end = (bounds[:, 0] + piece.start < window) | (
            bounds[:, 1] + piece.start > contig.codes.size - window
        )
        p[at_end & np.isnan(log_odds).any(axis=1)] = np.nan
        letters = tuple(_letters(piece.codes, row, is_reverse) for row in bounds.tolist())
        result = JudgedChain(chain, p, log_odds, letters, tuple(others))
        if number not in judged or np.nansum(p) > np.nansum(judged[number].probabilities):
            judged[number] = result
    return [judged[number] for number in range(len(chains))]


def _posterior_of(
    start: int, end: int, introns: NDArray[np.int64], posteriors: NDArray[np.float64]
) -> tuple[float, Segment | None]:
    """Return the probability of an intron, and a more probable one that overlaps it."""
    is_same = (introns == (start, end)).all(axis=1)
    p = min(1.0, float(posteriors[is_same].sum()))
    rivals = np.where(is_same, 0.0, posteriors)
    rivals[(introns[:, 0] >= end) | (introns[:, 1] <= start)] = 0.0
    if not rivals.size or rivals.max() <= p:
        return p, None
    first, last = introns[rivals.argmax()].tolist()
    return p, (first, last)


def _posteriors(
    finder: PairedFinder, sites: Sites, rows: list[NDArray[np.int64]]
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return the introns of chains with these candidates, and their posterior probabilities.

    Introns are by position, shape (n, 2).
    """
    layer = _layer_of_claims(finder.layer)
    sizes = np.array([part.size for part in rows])
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    chosen = sites.take(np.concatenate(rows))
    content = chosen["content"]
    origins = np.repeat(content[bounds[:-1][sizes > 0]], sizes[sizes > 0], axis=0)
    chosen = chosen.adding(content=content - origins)
    posteriors = run_chain(chosen, layer, _LISTED, bounds=bounds)
    order = np.argsort(posteriors.introns[:, 0], kind="stable")
    firsts = posteriors.introns[order, 0]
    introns = chosen["places"][posteriors.introns[order]]
    values = np.exp(posteriors.intron_values[order])
    cuts = np.searchsorted(firsts, bounds[1:-1])
    return list(zip(np.split(introns, cuts), np.split(values, cuts), strict=True))


def _layer_of_claims(layer: PairLayer) -> PairLayer:
    """Return the layer by which given introns are judged."""
    n = max(0, layer.shortest - _SHORTEST)
    shorter = np.full(n, layer.introns[0] + _RARE)
    return layer.with_odds(_CLAIM)._replace(
        shortest=layer.shortest - n, introns=np.concatenate([shorter, layer.introns])
    )


def _letters(codes: NDArray[np.uint8], bounds: Sequence[int], is_reverse: bool) -> str:
    """Return the first two and the last two letters of an intron in reading direction."""
    start, end = bounds
    ends = np.concatenate([codes[start : start + 2], codes[end - 2 : end]])
    text = decode(reverse_complement(ends) if is_reverse else ends)
    return f"{text[:2]}-{text[2:]}"
