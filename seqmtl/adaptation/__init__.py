"""One more organism for a trained model, from few labels or none."""
