"""Labelled sites: true sites and decoys.

Sites have the column labels (1 for a true site, -1 for a decoy, int8). A site is its dinucleotide.
"""

from __future__ import annotations

import numpy as np

from seqmtl.sequences import encode
from seqmtl.sequences.sites import Sites, find_motifs
from seqmtl.simulation.genes import Layout
from seqmtl.simulation.motifs import MODELS


def true_sites(genes: Layout, signal: str, chromosome_start: int) -> Sites:
    """Return the annotated sites of one chromosome.

    Parameters
    ----------
    genes : Layout
        Genes of the chromosome, in coordinates of the plus strand.
    signal : str
        "acceptor" or "donor".
    chromosome_start : int
        Number of bases on the preceding chromosomes.
    """
    n_exons = np.diff(genes.first_exon)
    gene = np.repeat(np.arange(n_exons.size), n_exons)
    order = np.arange(gene.size) - genes.first_exon[gene]
    exon = np.flatnonzero(order > 0 if signal == "acceptor" else order < n_exons[gene] - 1)
    is_reverse = genes.strand[gene[exon]] < 0
    # the edge of the exon next to the site
    at_end = is_reverse != (signal == "donor")
    edge = np.where(at_end, genes.exon_end[exon], genes.exon_start[exon])
    starts = chromosome_start + edge - np.where(at_end, 0, 2)
    return Sites(starts, is_reverse, {"labels": np.ones(starts.size, dtype=np.int8)})


def decoy_pools(
    letters: np.ndarray, genes: Layout, signal: str, margin: int, chromosome_start: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the possible positions of decoys on one chromosome, as two pools.

    These are AG (or GT) dinucleotides that are not annotated sites, on the plus and on the minus
    strand.

    Parameters
    ----------
    letters : numpy.ndarray
        Shape (bases,), uint8 ASCII letters of the chromosome.
    genes : Layout
        Its genes, in coordinates of the plus strand.
    signal : str
        "acceptor" or "donor".
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
    true = true_sites(genes, signal, 0)
    candidates = [find_motifs(codes, [MODELS[signal].letters], strand) for strand in (False, True)]
    for strand, is_candidate in enumerate(candidates):
        is_candidate[true.starts[true.is_reverse == strand]] = False
    inner = slice(margin, codes.size - margin)
    first_pool, second_pool = (
        np.flatnonzero(is_candidate[inner]) + margin for is_candidate in candidates
    )
    return first_pool + chromosome_start, second_pool + chromosome_start


def draw_decoys(
    pools: list[tuple[np.ndarray, np.ndarray]], count: int, rng: np.random.Generator
) -> Sites:
    """Draw decoys without replacement, half from each pool; fewer are a subset of more.

    Parameters
    ----------
    pools : list of tuple of two numpy.ndarray
        Results of :func:`decoy_pools`, one tuple per chromosome.
    count : int
        Number of decoys.
    rng : numpy.random.Generator
        Random generator.

    Raises
    ------
    ValueError
        If a pool is too small.
    """
    parts = []
    quotas = (count // 2, count - count // 2)
    for strand, (quota, pool_rng) in enumerate(zip(quotas, rng.spawn(2), strict=True)):
        pool = np.concatenate([pair[strand] for pair in pools])
        if pool.size < quota:
            raise ValueError(
                f"number of decoys must be at most {2 * pool.size} in one organism, got {count}; "
                "use longer chromosomes, fewer windows or fewer decoys_per_site"
            )
        starts = pool[pool_rng.permutation(pool.size)[:quota]]
        is_reverse = np.full(quota, strand == 1)
        parts.append(Sites(starts, is_reverse, {"labels": np.full(quota, -1, dtype=np.int8)}))
    return Sites.join(parts)
