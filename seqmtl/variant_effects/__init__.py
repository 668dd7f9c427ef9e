"""Effects of variants on a signal: gains, losses, and their positions."""

from seqmtl.variant_effects.annotate import AnnotationSummary, Annotator, annotate_vcf
from seqmtl.variant_effects.annotated_exons import AnnotatedExons, ExonEffects, ExonScorer
from seqmtl.variant_effects.effects import Effects, EffectScorer, score_variants
from seqmtl.variant_effects.paired_effects import PairedEffectScorer
from seqmtl.variant_effects.window_effects import (
    WindowEffects,
    WindowEffectScorer,
    score_changes,
)

__all__ = [
    "AnnotatedExons",
    "AnnotationSummary",
    "Annotator",
    "EffectScorer",
    "Effects",
    "ExonEffects",
    "ExonScorer",
    "PairedEffectScorer",
    "WindowEffectScorer",
    "WindowEffects",
    "annotate_vcf",
    "score_changes",
    "score_variants",
]
