"""Sites in pairs: a chain of exons and introns above the scores of donors and acceptors."""

from seqmtl.splicing.chain import Posteriors, join_ends, run_chain
from seqmtl.splicing.finder import PairedFinder
from seqmtl.splicing.fit import fit_layer
from seqmtl.splicing.held_out import PairedScores, score_paired

__all__ = [
    "PairedFinder",
    "PairedScores",
    "Posteriors",
    "fit_layer",
    "join_ends",
    "run_chain",
    "score_paired",
]
