"""Reported sites in a part of a contig."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SiteBlock(NamedTuple):
    """Reported sites in a part of a contig, by start, plus before minus.

    Attributes
    ----------
    starts : ndarray of int64, shape (n,)
        0-based start of the site's interval on the forward strand.
    scores : ndarray of float32, shape (n,)
        Scores of the windows around the sites.
    is_reverse : ndarray of bool, shape (n,)
        Whether a site is on the minus strand.
    n_scored, n_mixed : int
        Windows scored, and windows with a letter other than A, C, G, T.
    n_candidates : int
        Sites with the consensus, before any filter.
    removed : mapping of str to int
        Candidates removed by each filter.
    """

    starts: NDArray[np.int64]
    scores: NDArray[np.float32]
    is_reverse: NDArray[np.bool_]
    n_scored: int
    n_mixed: int
    n_candidates: int = 0
    removed: Mapping[str, int] = MappingProxyType({})


def merge_strands(blocks: Sequence[SiteBlock]) -> SiteBlock:
    """Merge the sites of both strands in one order: by start, plus before minus."""
    if len(blocks) == 1:
        return blocks[0]
    starts = np.concatenate([block.starts for block in blocks])
    order = np.argsort(starts, kind="stable")
    removed: dict[str, int] = {}
    for block in blocks:
        for reason, n in block.removed.items():
            removed[reason] = removed.get(reason, 0) + n
    return SiteBlock(
        starts[order],
        np.concatenate([block.scores for block in blocks])[order],
        np.concatenate([block.is_reverse for block in blocks])[order],
        sum(block.n_scored for block in blocks),
        sum(block.n_mixed for block in blocks),
        sum(block.n_candidates for block in blocks),
        removed,
    )
