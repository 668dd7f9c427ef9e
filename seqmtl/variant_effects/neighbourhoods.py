"""Candidates of a paired model around alleles, on the reference and with an allele inserted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.genome import ContigPiece
from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.sites import Sites
from seqmtl.splicing import PairedFinder, Posteriors, run_chain
from seqmtl.splicing.chain import content_between, either_class, promising, with_letters
from seqmtl.splicing.coding import GC_REACH, WORD

_MIN_INTRON = 0.01  # probability
_MIN_EXON = 0.001
_NO_PAIRS = np.empty((0, 2), dtype=np.int64), np.empty(0)


#: Candidates of a haplotype that parses may take, and their posteriors, of either class.
SitePosteriors = tuple[Sites, Posteriors]


class Neighbourhood:
    """A stretch of a contig with its candidates, into which alleles are put.

    An allele changes the scores of the sites whose windows overlap it, and the coding content,
    which depends on the share of G and C in 500 bases on either side. All else is taken from the
    reference, so only the chain is run for each allele. Sites in tandem repeats count, too.

    Parameters
    ----------
    finder : PairedFinder
        Finds candidates.
    contig : ndarray of uint8
        Letters of the contig.
    first, last : int
        The sites are those that start at first..last-1.
    is_alone : bool
        Whether sites are scored alone: no chain is run, and windows that cross a contig end are
        padded with N.

    Attributes
    ----------
    start : int
        Base of the contig from which all positions are counted.
    reference : SitePosteriors
        The candidates of the reference.
    """

    def __init__(
        self,
        finder: PairedFinder,
        contig: NDArray[np.uint8],
        first: int,
        last: int,
        *,
        is_alone: bool = False,
    ) -> None:
        self._finder, self._is_alone = finder, is_alone
        self._window = max(site_finder.length for site_finder in finder.finders)
        n_before = 0
        if is_alone:
            n_before = self._window
            contig = np.pad(contig, n_before, constant_values=OTHER)
        first, last = first + n_before, last + n_before
        begin = max(0, first - self._window)
        self.start = begin - n_before
        self._codes = contig[begin : last + self._window]
        bounds = max(0, first) - begin, min(last, contig.size) - begin
        self.reference = self._run_chain(self._promising(self._codes, *bounds))

    def alternative(self, begin: int, end: int, letters: NDArray[np.uint8]) -> SitePosteriors:
        """Return the candidates with the bases begin..end-1 replaced by others."""
        codes = np.concatenate([self._codes[:begin], letters, self._codes[end:]])
        reference, _ = self.reference
        grown = letters.size - (end - begin)
        clear = self._window + max(self._finder.site_lengths)
        low, high = begin - clear, end + clear
        sites_before = reference.take(
            slice(int(np.searchsorted(reference["places"], low, "right")))
        )
        right = reference.take(slice(int(np.searchsorted(reference["places"], high)), None))
        right = _moved(right, grown)
        new_sites = self._promising(codes, max(0, low - clear), high + grown + clear)
        positions = new_sites["places"]
        new_sites = new_sites.take((positions > low) & (positions < high + grown))
        sites = Sites.join([sites_before, new_sites, right])
        if len(sites):
            places, content = sites["places"], sites["content"]
            reach = max(clear, GC_REACH + WORD)
            first = max(0, int(np.searchsorted(places, begin - reach, "right")) - 1)
            last = min(int(np.searchsorted(places, end + grown + reach)), len(sites) - 1)
            start, before = content[first] * bool(len(sites_before)), content[last].copy()
            near = content_between(places[first : last + 1], codes, self._finder.layer.coding)
            content[first : last + 1] = near + start
            content[last + 1 :] += content[last] - before
        return self._run_chain(sites)

    def _promising(self, codes: NDArray[np.uint8], first: int, last: int) -> Sites:
        """Return the candidates that start at first..last-1 and that parses may take."""
        begin = max(0, first - self._window)
        piece = ContigPiece("", begin, codes[begin : last + self._window])
        sites = self._finder.candidates(piece, first, last)
        sites = sites.adding(is_tandem=np.zeros(len(sites), dtype=np.bool_))
        if not self._is_alone:
            sites = sites.take(promising(sites, self._finder.layer))
        return sites.adding(places=sites["places"] + begin)

    def _run_chain(self, sites: Sites) -> SitePosteriors:
        if self._is_alone:
            sites = sites.take(~sites["is_u12"])
            log_p = -np.logaddexp(0.0, -with_letters(sites, self._finder.layer))
            return sites, Posteriors(log_p, *_NO_PAIRS, *_NO_PAIRS)
        posteriors = run_chain(sites, self._finder.layer, _MIN_INTRON, _MIN_EXON)
        log_p = either_class(sites, posteriors.sites)
        return sites, posteriors._replace(sites=log_p)


def _moved(sites: Sites, shift: int) -> Sites:
    """Return sites some bases farther to the right, with the frames of their coding content."""
    content = np.roll(sites["content"].reshape(-1, 2, 3), shift, axis=2).reshape(-1, 6)
    moved = sites.adding(places=sites["places"] + shift, content=content)
    return Sites(moved.starts + shift, moved.is_reverse, moved.columns)
