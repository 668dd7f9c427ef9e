"""Sites in pairs: a chain of exons and introns above the scores of donors and acceptors."""

from seqmtl.pairs.chain import Posteriors, join_ends, run_chain
from seqmtl.pairs.finder import PairedFinder
from seqmtl.pairs.fit import fit_layer
from seqmtl.pairs.held_out import PairedScores, score_paired

__all__ = [
    "PairedFinder",
    "PairedScores",
    "Posteriors",
    "fit_layer",
    "join_ends",
    "run_chain",
    "score_paired",
]
