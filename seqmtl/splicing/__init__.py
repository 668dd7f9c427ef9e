"""Sites in pairs: a chain of exons and introns above the scores of donors and acceptors."""

from typing import TYPE_CHECKING

from seqmtl._lazy import import_on_use

if TYPE_CHECKING:
    from seqmtl.splicing.chain import Posteriors, join_ends, run_chain
    from seqmtl.splicing.finder import PairedFinder
    from seqmtl.splicing.fit import fit_layer
    from seqmtl.splicing.paired_scores import score_paired

__all__ = [
    "PairedFinder",
    "Posteriors",
    "fit_layer",
    "join_ends",
    "run_chain",
    "score_paired",
]

__getattr__ = import_on_use(
    __name__,
    {
        "seqmtl.splicing.chain": "Posteriors join_ends run_chain",
        "seqmtl.splicing.finder": "PairedFinder",
        "seqmtl.splicing.fit": "fit_layer",
        "seqmtl.splicing.paired_scores": "score_paired",
    },
)
