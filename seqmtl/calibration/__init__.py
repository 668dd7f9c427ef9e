"""From scores to probabilities: sigmoids, calibration curves, leave-one-out scores."""
