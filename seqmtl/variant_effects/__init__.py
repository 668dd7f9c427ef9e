"""Effects of variants on a signal: gains, losses, and their positions."""

from seqmtl.variant_effects.annotate import AnnotationSummary, Annotator, annotate_vcf
from seqmtl.variant_effects.annotated_exons import ExonScorer
from seqmtl.variant_effects.effects import AlleleScorer, Effects, EffectScorer, score_variants
from seqmtl.variant_effects.paired_effects import PairedEffectScorer

__all__ = [
    "AlleleScorer",
    "AnnotationSummary",
    "Annotator",
    "EffectScorer",
    "Effects",
    "ExonScorer",
    "PairedEffectScorer",
    "annotate_vcf",
    "score_variants",
]
