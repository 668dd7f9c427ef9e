"""Trained models of a weight vector per task: scores, probabilities, summaries, files."""
