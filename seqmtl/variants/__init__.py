"""Variants to their effects on a signal: gains, losses, and where."""
