"""Sites in pairs: a chain of exons and introns above the scores of donors and acceptors."""

from seqmtl.pairs.chain import Ends, Posteriors, Sites, join_ends, run_chain
from seqmtl.pairs.finder import PairedFinder
from seqmtl.pairs.fit import fit_layer
from seqmtl.pairs.held_out import PairedScores, score_paired
from seqmtl.pairs.scan import write_paired_scan

__all__ = [
    "Ends",
    "PairedFinder",
    "PairedScores",
    "Posteriors",
    "Sites",
    "fit_layer",
    "join_ends",
    "run_chain",
    "score_paired",
    "write_paired_scan",
]
