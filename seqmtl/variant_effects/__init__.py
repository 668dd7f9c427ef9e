"""Effects of variants on a signal: gains, losses, and their positions."""

from seqmtl.variant_effects.annotate import AnnotationSummary, Annotator, annotate_vcf
from seqmtl.variant_effects.annotated_exons import AnnotatedExons, ExonEffects, ExonScorer
from seqmtl.variant_effects.effects import AlleleScorer, Effects, EffectScorer, score_variants
from seqmtl.variant_effects.paired_effects import PairedEffectScorer
from seqmtl.variant_effects.window_effects import WindowEffectScorer

__all__ = [
    "AlleleScorer",
    "AnnotatedExons",
    "AnnotationSummary",
    "Annotator",
    "EffectScorer",
    "Effects",
    "ExonEffects",
    "ExonScorer",
    "PairedEffectScorer",
    "WindowEffectScorer",
    "annotate_vcf",
    "score_variants",
]
