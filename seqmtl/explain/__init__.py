"""What a model has learnt: oligomer importance, logos, contributions, mutagenesis, k-mers."""

from seqmtl.explain.poim import Oligomer, Poim, differential, mean_poim, oligomer, poim

__all__ = ["Oligomer", "Poim", "differential", "mean_poim", "oligomer", "poim"]
