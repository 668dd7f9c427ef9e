"""Sites in pairs: a chain of exons and introns above the scores of donors and acceptors."""

from seqmtl.pairs.chain import Posteriors, Sites, run_chain
from seqmtl.pairs.fit import fit_layer
from seqmtl.pairs.held_out import PairedScores, score_paired

__all__ = ["PairedScores", "Posteriors", "Sites", "fit_layer", "run_chain", "score_paired"]
