"""One more organism for a trained model, from few labels or none."""

from seqmtl.adaptation.adapted_model import adapt

__all__ = ["adapt"]
