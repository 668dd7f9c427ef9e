"""Effects of variants on a signal: gains, losses, and their positions."""

from seqmtl.variants.annotate import AnnotationSummary, Annotator, annotate_vcf
from seqmtl.variants.effects import Effects, EffectScorer, score_variants
from seqmtl.variants.paired_effects import PairedEffectScorer

__all__ = [
    "AnnotationSummary",
    "Annotator",
    "EffectScorer",
    "Effects",
    "PairedEffectScorer",
    "annotate_vcf",
    "score_variants",
]
