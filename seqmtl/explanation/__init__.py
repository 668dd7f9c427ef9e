"""Explain models: oligomer importance, logos, contributions, mutagenesis, k-mers."""

from seqmtl.explanation.contributions import contributions, mutagenesis
from seqmtl.explanation.figures import (
    draw_contributions,
    draw_kmers,
    draw_logo,
    draw_motifs,
    draw_poim,
)
from seqmtl.explanation.kmers import CountedKmer, align_kmers, top_kmers
from seqmtl.explanation.poim import Oligomer, Poim, mean_kmers, oligomer, poim

__all__ = [
    "CountedKmer",
    "Oligomer",
    "Poim",
    "align_kmers",
    "contributions",
    "draw_contributions",
    "draw_kmers",
    "draw_logo",
    "draw_motifs",
    "draw_poim",
    "mean_kmers",
    "mutagenesis",
    "oligomer",
    "poim",
    "top_kmers",
]
