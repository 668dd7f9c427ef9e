"""Candidates of all signals: in regions that two datasets share, piece by piece, with labels."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.files.streams import PathLike
from seqmtl.io.dataset import SplitGenome
from seqmtl.io.genome import ContigPiece
from seqmtl.linear_model.dataset_site import site_of_model
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.scanning.candidate_scores import find_candidates
from seqmtl.scanning.finder import SiteFinder, finder_of
from seqmtl.sequences import encode, reverse_complement
from seqmtl.sequences.sites import Sites, words_at
from seqmtl.splicing.chain import join_ends
from seqmtl.splicing.coding_loops import list_codons
from seqmtl.splicing.layer import EDGES, PairLayer
from seqmtl.splicing.start_codons import score_starts

_CODON = 3  # bases


class EndFinder(NamedTuple):
    """Finder of an end of introns.

    Attributes
    ----------
    finder : SiteFinder
        Finds the sites.
    others : tuple of str
        Letters of donors that its model lacks.
    u12 : SiteFinder, optional
        Finds the sites of U12-type introns, too.
    least : float
        Their least log-odds.
    """

    finder: SiteFinder
    others: tuple[str, ...]
    u12: SiteFinder | None = None
    least: float = -np.inf

    def scored(self, sites: Sites, codes: NDArray[np.uint8], origin: int = 0) -> Sites:
        """Return sites with their ``log_odds``, and the number of the other ``letters``, from 1.

        `codes` are the letters from the base `origin` on; letters of the site model are number 0.
        Whether they are of U12-type introns, ``is_u12``, is false.
        """
        numbers = 1 + words_at(codes, sites.starts - origin, sites.is_reverse, self.others)
        return _with_log_odds(self.finder, sites, numbers, is_u12=False)

    def find(self, piece: ContigPiece, begin: int, end: int) -> Sites:
        """Return the sites of a contig that start at begin..end-1, scored, of either class."""
        sites = self.finder.find_sites(piece, begin, end)
        sites = self.scored(sites, piece.codes, piece.start)
        return Sites.join([sites, *self.find_u12(piece, begin, end)])

    def log_odds_at(self, sites: Sites, codes: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the log-odds of sites by position, which count from the first of the letters."""
        scores = np.empty(len(sites))
        for is_reverse in np.unique(sites.is_reverse).tolist():
            rows = np.flatnonzero(sites.is_reverse == is_reverse)
            starts = sites.starts[rows] - self.finder.offset(is_reverse)
            among = int(starts[0]), int(starts[-1]) + 1, is_reverse, starts
            scores[rows] = self.finder.scanner.score_range(codes, *among)
        assert self.finder.log_odds is not None
        return self.finder.log_odds(scores).astype(np.float32)

    def find_u12(self, piece: ContigPiece, begin: int, end: int) -> list[Sites]:
        """Return the sites of U12-type introns as :meth:`find` does, if there may be any."""
        if self.u12 is None:
            return []
        sites = self.u12.find_sites(piece, begin, end)
        sites = _with_log_odds(self.u12, sites, np.zeros(len(sites), np.int8), is_u12=True)
        return [sites.take(sites["log_odds"] >= self.least)]


def _with_log_odds(
    finder: SiteFinder, sites: Sites, letters: NDArray[np.int8], *, is_u12: bool
) -> Sites:
    """Return the sites of a finder with their log-odds, the number of letters, and the class."""
    assert finder.log_odds is not None
    log_odds = finder.log_odds(sites["scores"].astype(np.float64))
    return sites.adding(log_odds=log_odds, letters=letters, is_u12=np.full(len(sites), is_u12))


def cut_regions(held: SplitGenome, margin: int, size: int) -> list[tuple[int, int, int, int]]:
    """Cut regions into pieces.

    Each is its first base in the buffer of the genome and the base after its last one, and those
    of the piece with its margin.

    Parameters
    ----------
    held : SplitGenome
        Regions.
    margin : int
        Bases of the margin, such as :func:`seqmtl.splicing.chain.margin_of`.
    size : int
        Most bases of a piece without its margin.
    """
    return [
        (
            first,
            min(first + size, end),
            max(begin, first - margin),
            min(end, first + size + margin),
        )
        for begin, end in held.regions.tolist()
        for first in range(begin, end, size)
    ]


def other_donors(model: MultiTaskModel, path: PathLike) -> tuple[str, ...]:
    """Return the letters of the donors of a dataset that their model lacks."""
    site = site_of_model(model.site, path, model.length, model.shift)
    consensus = model.site.consensus
    return tuple(word for word in site.consensus if consensus and word not in consensus)


def end_finders(
    models: Sequence[MultiTaskModel],
    organism: str,
    layer: PairLayer,
    u12: Sequence[MultiTaskModel] = (),
    paths: Sequence[PathLike | None] = (None, None),
) -> list[EndFinder]:
    """Return what finds the donors and the acceptors of an organism.

    Parameters
    ----------
    models : sequence, two
        Models of the sites.
    organism : str
        Organism of the models; one that they lack is scored from its relatives.
    layer : PairLayer
        Its layer, which tells the other letters of donors, and the least log-odds of U12 type.
    u12 : sequence of MultiTaskModel, two, optional
        Models of the sites of U12-type introns, whose candidates no dataset has. Default: these
        are not found.
    paths : sequence, optional
        Datasets that have the candidates. Default: none.
    """
    finders = []
    for k, (model, path) in enumerate(zip(models, paths, strict=True)):
        site, consensus = model.site, model.site.consensus
        others = () if k else tuple(one.letters for one in layer.donors)
        words = (*consensus, *others)
        if path is not None:
            site = site_of_model(site, path, model.length, model.shift)
            words = tuple(word for word in words if word in site.consensus)
        if consensus and words:
            site = replace(site, letters=",".join(words))
        finder = EndFinder(finder_of(model, organism, site=site), others)
        if u12 and layer.u12:
            of_u12 = finder_of(u12[k], u12[k].tasks[0])
            finder = finder._replace(u12=of_u12, least=layer.u12.least[k])
        finders.append(finder)
    return finders


def edge_finders(
    layer: PairLayer, models: Mapping[str, MultiTaskModel], organism: str
) -> dict[str, SiteFinder]:
    """Return what finds the edges of genes that a layer takes by models, by signal."""
    return {
        edge.signal: finder_of(models[edge.signal], organism)
        for edge in layer.edges
        if edge.has_model
    }


def find_edges(
    layer: PairLayer,
    finders: Mapping[str, SiteFinder],
    piece: ContigPiece,
    begin: int,
    end: int,
    like: Sites,
) -> dict[str, Sites]:
    """Return edges of genes that start at begin..end-1 of a contig, by signal.

    Those without a model are all codons of their kind: start codons have the log-odds of the
    letters around them, stop codons 0. Columns of `like` that they lack are 0.
    """
    begin = max(begin, piece.start)
    end = max(begin, min(end, piece.start + piece.codes.size))
    edges, codons = {}, None
    for edge in layer.edges:
        if edge.has_model:
            sites = EndFinder(finders[edge.signal], ()).find(piece, begin, end)
            sites = sites.take(sites["log_odds"] >= edge.least)
        else:
            codons = _codons(piece, begin, end, layer.stops) if codons is None else codons
            sites = codons[edge.signal]
        edges[edge.signal] = _with_columns(sites, like)
    return edges


def _with_columns(sites: Sites, like: Sites) -> Sites:
    """Return sites with the columns that only others have, which are 0."""
    lacking = like.columns.keys() - sites.columns.keys()
    return sites.adding(**{name: np.zeros(len(sites), like[name].dtype) for name in lacking})


def _codons(piece: ContigPiece, begin: int, end: int, stops: tuple[str, ...]) -> dict[str, Sites]:
    """Return the start and stop codons that start at begin..end-1, plus before minus."""
    codes = piece.codes[begin - piece.start : end - piece.start + _CODON - 1]
    rows = np.empty((codes.size, 2), dtype=np.int64)
    rows = rows[: list_codons(codes, _kinds_of_codons(stops), rows)]
    codons = {}
    for number, signal in enumerate(EDGES):
        strands = [rows[rows[:, 1] == 1 + 2 * number + k, 0] + begin for k in range(2)]
        starts, is_reverse = np.concatenate(strands), np.repeat([False, True], [*map(len, strands)])
        log_odds = np.zeros(starts.size)
        if signal == "start":
            log_odds += score_starts(piece.codes, starts - piece.start, is_reverse)
        codons[signal] = Sites(starts, is_reverse, {"log_odds": log_odds})
    return codons


@functools.cache
def _kinds_of_codons(stops: tuple[str, ...]) -> NDArray[np.uint8]:
    """Return the kind of each of 64 codons: 1 + 2 signal + strand, or 0."""
    kinds = np.zeros(64, dtype=np.uint8)
    for number, words in enumerate((("ATG",), stops)):
        for word in words:
            for strand, codes in enumerate((encode(word), reverse_complement(encode(word)))):
                kinds[codes @ [16, 4, 1]] = 1 + 2 * number + strand
    return kinds


def find_piece(
    finders: Sequence[EndFinder],
    held: Sequence[SplitGenome],
    bounds: tuple[int, int, int, int],
    layer: PairLayer,
    edges: Mapping[str, SiteFinder],
) -> Sites:
    """Return the candidates of a piece of a region and of its margin.

    Parameters
    ----------
    finders : sequence of EndFinder, two
        Result of :func:`end_finders`.
    held : sequence of SplitGenome, two
        Result of :func:`seqmtl.splicing.regions.read_both`.
    bounds : tuple of int, four
        One of :func:`cut_regions`.
    layer : PairLayer
        Coding content, and the edges of genes to find.
    edges : mapping of str to SiteFinder
        Result of :func:`edge_finders`.

    Returns
    -------
    Sites
        Those of :func:`seqmtl.splicing.chain.join_ends`, with ``scores`` of the site models, and
        ``labels``: 1 for a true site, -1 for another candidate, 0 for an annotated site that the
        dataset excludes, for the candidates of the margin, of U12-type introns, and of edges.
    """
    first, last, begin, end = bounds
    codes = held[0].genome.codes[begin:end]
    piece = ContigPiece("", begin, codes)
    ends = {}
    for end_of, of_end in zip(finders, held, strict=True):
        part = replace(of_end, regions=np.array([[begin, end]], dtype=np.int64))
        candidates = Sites.join(find_candidates(end_of.finder, part))
        candidates = candidates.take(candidates["is_clean"])
        candidates = end_of.scored(candidates, of_end.genome.codes)
        of_u12 = [_with_columns(sites, candidates) for sites in end_of.find_u12(piece, begin, end)]
        ends[end_of.finder.signal] = Sites.join([candidates, *of_u12])
    ends |= find_edges(layer, edges, piece, begin, end, ends["donor"])
    sites = join_ends(ends, codes, layer.coding, begin)
    is_inside = (sites.starts >= first) & (sites.starts < last)
    return sites.adding(labels=np.where(is_inside, sites["labels"], 0))
