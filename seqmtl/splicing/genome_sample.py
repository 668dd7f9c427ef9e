"""Stretches of a genome without annotation, in two folds, and the candidates in them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.streams import PathLike
from seqmtl.io.genome import ContigPiece, contig_lengths, read_contigs
from seqmtl.scanning.filters import SiteFilters
from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.candidates import EndFinder, find_edges
from seqmtl.splicing.chain import Posteriors, place_ends, run_chain, stretch_rows, with_content
from seqmtl.splicing.layer import ENDS, PairLayer
from seqmtl.splicing.regions import SITE_LENGTH

#: Largest sample of a genome, in bases: a larger one costs time and has no more sites to use.
MOST_BASES = 8_000_000
#: Parts of a genome, each scored by models of the others.
FOLDS = 2
_LONGEST = 500_000  # bases of a stretch
_SHORTEST = 50_000  # unless the contig is shorter,
_MIN_STRETCHES = 16  # and of a genome that gives fewer stretches than these
_MIN_CONTIG = 600  # bases
_GROUP = 50_000  # bases of stretches that are scored at once, or one more stretch
#: Columns of candidates, and of sites with their posteriors, of which there are millions.
_NUMBERS = {"signals": np.int8, "kinds": np.int8, "stretches": np.int32, "places": np.int32}
_COLUMNS: dict[str, type[np.generic]] = {
    "signals": np.int8,
    "places": np.int32,
    "log_odds": np.float32,
    "letters": np.int8,
    "is_u12": np.bool_,
}

#: Called with the share of the stretches that are done.
Watch = Callable[[float], object]
_Result = TypeVar("_Result")


class GenomeSample(NamedTuple):
    """Stretches of a genome in one buffer, with letters N between them.

    Attributes
    ----------
    codes : ndarray of uint8
        The buffer.
    bounds : ndarray of int64, shape (n, 2)
        First base of each stretch in the buffer, and the base after its last one.
    fold : ndarray of int64, shape (n,)
        0 or 1: the folds have about the same number of bases.
    origins : list of (str, int)
        Contig of each stretch, and its 0-based first base there.
    """

    codes: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    fold: NDArray[np.int64]
    origins: list[tuple[str, int]]

    @property
    def size(self) -> int:
        """Bases of the stretches."""
        return int((self.bounds[:, 1] - self.bounds[:, 0]).sum())

    def stretch(self, k: int) -> NDArray[np.uint8]:
        """Return the letters of a stretch."""
        begin, end = self.bounds[k].tolist()
        return self.codes[begin:end]

    def groups(self) -> list[NDArray[np.int64]]:
        """Return the numbers of stretches that follow each other in the buffer, a few at a time.

        A group costs as much as a single stretch of its bases.
        """
        order = np.argsort(self.bounds[:, 0], kind="stable")
        begins, ends = self.bounds[order].T
        number = (np.cumsum(ends - begins) - 1) // _GROUP
        is_apart = begins[1:] - ends[:-1] >= _MIN_CONTIG  # others may be between them
        return np.split(order, np.flatnonzero((np.diff(number) > 0) | is_apart) + 1)

    def part(self, max_bases: float) -> GenomeSample:
        """Return evenly spaced stretches, of so many bases or few more."""
        rows = np.arange(0, len(self.bounds), max(1, int(self.size / max_bases)))
        origins = [self.origins[k] for k in rows]
        return self._replace(bounds=self.bounds[rows], fold=self.fold[rows], origins=origins)

    def reversed(self) -> GenomeSample:
        """Return the same stretches read from behind, a genome without a gene.

        They have the composition, the repeats and the GTs and AGs of a genome, but letters are
        not complemented, so that no gene is on either strand.
        """
        bounds = self.codes.size - self.bounds[:, ::-1]
        return self._replace(codes=np.ascontiguousarray(self.codes[::-1]), bounds=bounds)


def sample_genome(path: PathLike, padding: int, max_bases: int = MOST_BASES) -> GenomeSample:
    """Read stretches of a genome, evenly spaced, or all of a small one.

    Parameters
    ----------
    path : path-like
        FASTA, plain, gzip or bgzip; it is read twice.
    padding : int
        Letters N between the stretches.
    max_bases : int, default 8,000,000
        Bases to read, about.

    Raises
    ------
    InputFormatError
        If the file is not FASTA.
    SeqmtlError
        If no contig has 600 bases.
    """
    lengths = {name: size for name, size in contig_lengths(path).items() if size >= _MIN_CONTIG}
    if not lengths:
        for _ in read_contigs(path):  # refuses proteins, whose lengths may be those of an index
            pass
        raise SeqmtlError(
            f"{path}: no contig has the {_MIN_CONTIG} bases that pairs of sites need; score "
            "single sites with a model of seqmtl train"
        )
    total = sum(lengths.values())
    size = int(np.clip(total // _MIN_STRETCHES, _SHORTEST, _LONGEST))
    n_parts = {name: max(1, round(length / size)) for name, length in lengths.items()}
    n, share = sum(n_parts.values()), min(1.0, max_bases / total)
    # the k-th of all parts is taken if the count of those to take rises there
    taken = np.diff(np.floor(np.arange(n + 1) * share + 0.5)) > 0
    edges, at = {}, 0
    for name, parts in n_parts.items():
        cuts = np.linspace(0, lengths[name], parts + 1).astype(np.int64)
        rows = np.column_stack([cuts[:-1], cuts[1:]])
        edges[name] = rows[taken[at : at + parts]]
        at += parts
    return _copied(path, edges, padding)


def _copied(path: PathLike, edges: dict[str, NDArray[np.int64]], padding: int) -> GenomeSample:
    """Copy parts of the contigs into one buffer."""
    sizes = np.concatenate([rows[:, 1] - rows[:, 0] for rows in edges.values()])
    ends = np.cumsum(sizes + padding)
    bounds = np.column_stack([ends - sizes, ends])
    codes = np.full(int(ends[-1]) + padding, OTHER, dtype=np.uint8)
    first = dict(zip(edges, np.cumsum([0, *map(len, edges.values())]).tolist(), strict=False))
    wanted = frozenset(name for name, rows in edges.items() if len(rows))
    for contig in read_contigs(path, only=wanted):
        for k, (begin, end) in enumerate(edges[contig.name].tolist() if contig.codes.size else ()):
            to = int(bounds[first[contig.name] + k, 0])
            codes[to : to + end - begin] = contig.codes[begin:end]
    fold, load = np.zeros(sizes.size, dtype=np.int64), [0] * FOLDS
    for k in np.argsort(-sizes, kind="stable").tolist():
        fold[k] = load.index(min(load))
        load[fold[k]] += int(sizes[k])
    origins = [(name, begin) for name, rows in edges.items() for begin in rows[:, 0].tolist()]
    return GenomeSample(codes, bounds, fold, origins)


class ScoredCandidates(NamedTuple):
    """Donors, acceptors, and start and stop codons of every group of stretches.

    They are those of :func:`seqmtl.splicing.chain.place_ends`, with ``log_odds``, ``letters`` and
    ``is_u12``, see :class:`seqmtl.splicing.candidates.EndFinder`.
    """

    sample: GenomeSample
    groups: list[NDArray[np.int64]]
    sites: list[Sites]

    def posteriors(
        self, layer: PairLayer, min_probability: float | None = None, watch: Watch | None = None
    ) -> list[tuple[Sites, Posteriors]]:
        """Run the chain over every stretch.

        Returns
        -------
        list of (Sites, Posteriors)
            By stretch. Sites have ``signals`` and ``places``, which count from the first base of
            the stretch; their starts count from that of the buffer.
        """

        def one(k: int) -> list[tuple[Sites, Posteriors]]:
            letters = [self.sample.stretch(number) for number in self.groups[k].tolist()]
            numbers = {name: self.sites[k][name].astype(np.int64) for name in _NUMBERS}
            sites = with_content(self.sites[k].adding(**numbers), letters, layer.coding)
            rows = stretch_rows(sites, len(letters))
            return _by_stretch(sites, run_chain(sites, layer, min_probability, None, rows), rows)

        chains = [chain for group in _of_all(one, len(self.groups), watch) for chain in group]
        return [chains[k] for k in np.argsort(np.concatenate(self.groups)).tolist()]

    def rescored(
        self, ends: Sequence[Sequence[EndFinder]], watch: Watch | None = None
    ) -> ScoredCandidates:
        """Return the candidates with those of U2 type scored by the models of their folds."""

        def one(k: int) -> Sites:
            sites, log_odds = self.sites[k], self.sites[k]["log_odds"].copy()
            folds = self.sample.fold[self.groups[k]][sites["stretches"]]
            for fold in np.unique(folds).tolist():
                for signal, end in enumerate(ends[fold]):
                    is_of_end = (sites["signals"] == signal) & (folds == fold)
                    of_end = np.flatnonzero(is_of_end & ~sites["is_u12"])
                    log_odds[of_end] = end.log_odds_at(sites.take(of_end), self.sample.codes)
            return sites.adding(log_odds=log_odds)

        return self._replace(sites=_of_all(one, len(self.groups), watch))


def _by_stretch(
    sites: Sites, posteriors: Posteriors, rows: NDArray[np.int64]
) -> list[tuple[Sites, Posteriors]]:
    """Return the donors and acceptors of each stretch, and their introns."""
    is_end = sites["signals"] < len(ENDS)
    number, ends = np.cumsum(is_end) - 1, np.flatnonzero(is_end)
    columns = {name: sites[name][ends].astype(dtype) for name, dtype in _COLUMNS.items()}
    ends_of_introns = Sites(sites.starts[ends], sites.is_reverse[ends], columns)
    log_p = posteriors.sites[ends]
    introns, bounds = number[posteriors.introns], np.searchsorted(ends, rows)
    of_introns = np.searchsorted(introns[:, 1], bounds)
    parts = []
    for (a, b), (i, j) in zip(
        pairwise(bounds.tolist()), pairwise(of_introns.tolist()), strict=True
    ):
        of_stretch = posteriors._replace(
            sites=log_p[a:b], introns=introns[i:j] - a, intron_values=posteriors.intron_values[i:j]
        )
        parts.append((ends_of_introns.take(slice(a, b)), of_stretch))
    return parts


def _of_all(work: Callable[[int], _Result], n: int, watch: Watch | None) -> list[_Result]:
    """Return the results of each of n groups of stretches."""
    results = []
    for result in in_order(work, range(n)):
        results.append(result)
        if watch is not None:
            watch(len(results) / n)
    return results


def find_candidates(
    sample: GenomeSample,
    ends: Sequence[EndFinder],
    layer: PairLayer,
    watch: Watch | None = None,
) -> ScoredCandidates:
    """Score the candidates of every stretch by the same models.

    Windows that reach beyond a stretch see N there. Candidates are all pairs of letters of the
    models' sites, and the start and stop codons of a layer that has no models of them.
    """
    groups = sample.groups()

    def one(k: int) -> Sites:
        stretches = sample.bounds[groups[k]]
        begin, last = int(stretches[0, 0]), int(stretches[-1, 1])
        candidates = {end.finder.signal: _scored(sample, stretches, end) for end in ends}
        piece = ContigPiece("", begin, sample.codes[begin:last])
        candidates |= find_edges(layer, {}, piece, begin, last, candidates["donor"])
        letters = [sample.stretch(number) for number in groups[k].tolist()]
        sites = place_ends(candidates, letters, stretches[:, 0])
        return sites.adding(**{name: sites[name].astype(of) for name, of in _NUMBERS.items()})

    return ScoredCandidates(sample, groups, _of_all(one, len(groups), watch))


def _scored(sample: GenomeSample, stretches: NDArray[np.int64], end: EndFinder) -> Sites:
    """Return the candidates of a signal in stretches that follow each other."""
    begins, ends = stretches.T
    begin, last, reach = int(begins[0]), int(ends[-1]), end.finder.length
    piece = ContigPiece("", begin - reach, sample.codes[begin - reach : last + reach])
    filters = SiteFilters(regions={"": (begins, ends - SITE_LENGTH + 1)})
    finder, u12 = copy.copy(end.finder), copy.copy(end.u12)
    finder.filters = filters
    if u12 is not None:
        u12.filters = filters
    end = end._replace(finder=finder, u12=u12)
    candidates = end.find(piece, begin, last - SITE_LENGTH + 1)
    columns = {
        "log_odds": candidates["log_odds"].astype(np.float32),
        "letters": candidates["letters"],
        "is_u12": candidates["is_u12"],
    }
    return Sites(candidates.starts, candidates.is_reverse, columns)
