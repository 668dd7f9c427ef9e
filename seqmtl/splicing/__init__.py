"""Sites in pairs: a chain of exons and introns above the scores of donors and acceptors.

Names are imported on first use: a model can be read and described without compiled loops.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOME = {
    "PairedFinder": "finder",
    "PairedScores": "held_out",
    "fit_layer": "fit",
    "score_paired": "held_out",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'seqmtl.splicing' has no attribute {name!r}")
    return getattr(import_module(f"seqmtl.splicing.{_HOME.get(name, 'chain')}"), name)
