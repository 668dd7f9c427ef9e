"""Labelled sites: true sites and decoys, and the windows around them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqmtl.sequences import encode
from seqmtl.simulate.genes import Layout
from seqmtl.simulate.motifs import MODELS

_COMPLEMENT = np.arange(256, dtype=np.uint8)
_COMPLEMENT[np.frombuffer(b"ACGTacgt", dtype=np.uint8)] = np.frombuffer(b"TGCAtgca", dtype=np.uint8)
#: Bases around a TSS, on either strand, without decoys.
_CLEAR_OF_TSS = 50


@dataclass(frozen=True)
class Sites:
    """Sites of one organism; can be sliced like an array.

    Attributes
    ----------
    start : numpy.ndarray
        Shape (n,), int64: first base of the site's interval, counted over the concatenated
        chromosomes. A splice site is its dinucleotide of 2 bases, a TSS a single base.
    strand : numpy.ndarray
        Shape (n,), int8, 1 or -1.
    label : numpy.ndarray
        Shape (n,), int8: 1 for a true site, -1 for a decoy.
    gene, intron : numpy.ndarray
        Shape (n,), int32: 0-based gene, and 0-based intron in the order of transcription (0 for a
        TSS); -1 for a decoy.
    """

    start: np.ndarray
    strand: np.ndarray
    label: np.ndarray
    gene: np.ndarray
    intron: np.ndarray

    def __len__(self) -> int:
        """Return the number of sites."""
        return self.start.size

    def __getitem__(self, rows: np.ndarray | slice) -> Sites:
        """Return a subset of the sites, by a slice, a mask or row indices."""
        return Sites(*(column[rows] for column in vars(self).values()))

    @staticmethod
    def concatenate(parts: list[Sites]) -> Sites:
        """Concatenate sites, sorted by position, then strand (plus first)."""
        by_column = zip(*(vars(part).values() for part in parts), strict=True)
        sites = Sites(*(np.concatenate(column) for column in by_column))
        return sites[np.lexsort((-sites.strand, sites.start))]


def true_sites(genes: Layout, signal: str, first_gene: int, chromosome_start: int) -> Sites:
    """Return the annotated sites of one chromosome.

    Parameters
    ----------
    genes : Layout
        Genes of the chromosome, in coordinates of the plus strand.
    signal : str
        "acceptor", "donor" or "tss".
    first_gene : int
        Number of genes on the preceding chromosomes.
    chromosome_start : int
        Number of bases on the preceding chromosomes.
    """
    n_exons = np.diff(genes.first_exon)
    gene = np.repeat(np.arange(n_exons.size), n_exons)
    order = np.arange(gene.size) - genes.first_exon[gene]
    wanted = {"tss": order == 0, "donor": order < n_exons[gene] - 1, "acceptor": order > 0}[signal]
    exon = np.flatnonzero(wanted)
    gene, intron = gene[exon], order[exon] - (signal == "acceptor")
    strand = genes.strand[gene]
    # the edge of the exon next to the site, and the site's bases before or after it
    at_end = (strand > 0) == (signal == "donor")
    edge = np.where(at_end, genes.exon_end[exon], genes.exon_start[exon])
    if signal == "tss":
        start = np.where(at_end, edge - 1, edge)
    else:
        start = np.where(at_end, edge, edge - 2)
    return Sites(
        start=start + chromosome_start,
        strand=strand,
        label=np.ones(start.size, dtype=np.int8),
        gene=(gene + first_gene).astype(np.int32),
        intron=intron.astype(np.int32),
    )


def decoy_pools(
    letters: np.ndarray, genes: Layout, signal: str, margin: int, chromosome_start: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the possible positions of decoys on one chromosome, as two pools.

    For splice sites: AG (or GT) dinucleotides that are not annotated sites, on the plus and on the
    minus strand. For a TSS: all bases except N that are away from annotated TSS, inside genes and
    between them.

    Parameters
    ----------
    letters : numpy.ndarray
        Shape (bases,), uint8 ASCII letters of the chromosome.
    genes : Layout
        Its genes, in coordinates of the plus strand.
    signal : str
        "acceptor", "donor" or "tss".
    margin : int
        Number of bases without decoys at either end of the chromosome.
    chromosome_start : int
        Number of bases on the preceding chromosomes.

    Returns
    -------
    tuple of two numpy.ndarray
        First bases of the intervals, int64, counted over the concatenated chromosomes.
    """
    codes = encode(letters.tobytes())
    true = true_sites(genes, signal, 0, 0)
    if signal == "tss":
        between = np.ones(codes.size, dtype=bool)
        for start, end in zip(*genes.spans(), strict=True):
            between[start:end] = False
        clear = codes < 4
        for start in true.start:
            clear[max(0, start - _CLEAR_OF_TSS) : start + _CLEAR_OF_TSS + 1] = False
        candidates = (clear & ~between, clear & between)
    else:
        first, second = encode(MODELS[signal].letters)
        plus = (codes[:-1] == first) & (codes[1:] == second)
        minus = (codes[:-1] == 3 - second) & (codes[1:] == 3 - first)
        plus[true.start[true.strand > 0]] = False
        minus[true.start[true.strand < 0]] = False
        candidates = (plus, minus)
    inner = slice(margin, codes.size - margin)
    first_pool, second_pool = (np.flatnonzero(found[inner]) + margin for found in candidates)
    return first_pool + chromosome_start, second_pool + chromosome_start


def draw_decoys(
    pools: list[tuple[np.ndarray, np.ndarray]], signal: str, count: int, rng: np.random.Generator
) -> Sites:
    """Draw decoys without replacement, half from each pool; fewer are a subset of more.

    Parameters
    ----------
    pools : list of tuple of two numpy.ndarray
        Results of :func:`decoy_pools`, one tuple per chromosome.
    signal : str
        "acceptor", "donor" or "tss".
    count : int
        Number of decoys.
    rng : numpy.random.Generator
        Random generator.

    Raises
    ------
    ValueError
        If a pool is too small.
    """
    starts, strands = [], []
    quotas = (count // 2, count - count // 2)
    for side, (quota, own_rng) in enumerate(zip(quotas, rng.spawn(2), strict=True)):
        pool = np.concatenate([pair[side] for pair in pools])
        if pool.size < quota:
            raise ValueError(
                f"number of decoys must be at most {2 * pool.size} in one organism, got {count}; "
                "use longer chromosomes, fewer windows or fewer decoys_per_site"
            )
        starts.append(pool[own_rng.permutation(pool.size)[:quota]])
        if signal == "tss":
            strands.append(1 - 2 * own_rng.integers(0, 2, size=quota, dtype=np.int8))
        else:
            strands.append(np.full(quota, 1 - 2 * side, dtype=np.int8))
    none = np.full(count, -1, dtype=np.int32)
    return Sites(
        start=np.concatenate(starts),
        strand=np.concatenate(strands),
        label=np.full(count, -1, dtype=np.int8),
        gene=none,
        intron=none,
    )


def window_starts(sites: Sites, site_length: int, window: int) -> np.ndarray:
    """Return the first base of every site's window on the plus strand, shape (n,), int64.

    With c = (start + end) / 2 of the site, a window on the plus strand starts at
    ``floor(c) - window // 2``, and one on the minus strand ends at ``ceil(c) + window // 2``. A
    dinucleotide is therefore at offsets window // 2 - 1 and window // 2 of its window, a single
    base at window // 2, both in the sense of the strand.
    """
    plus = sites.start + site_length // 2 - window // 2
    minus = sites.start + (site_length + 1) // 2 + window // 2 - window
    return np.where(sites.strand > 0, plus, minus)


def cut_windows(letters: np.ndarray, sites: Sites, site_length: int, window: int) -> np.ndarray:
    """Cut the windows of sites, reverse-complementing those on the minus strand.

    Parameters
    ----------
    letters : numpy.ndarray
        Shape (bases,), uint8 ASCII letters of the concatenated chromosomes; case is kept.
    sites : Sites
        n sites.
    site_length : int
        Length of a site in bases, 1 or 2.
    window : int
        Window length in bases.

    Returns
    -------
    numpy.ndarray
        Shape (n, window), uint8 ASCII letters.
    """
    first = window_starts(sites, site_length, window)
    cut = letters[first[:, None] + np.arange(window)]
    cut[sites.strand < 0] = _COMPLEMENT[cut[sites.strand < 0][:, ::-1]]
    return cut
