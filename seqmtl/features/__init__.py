"""Sequence to features, generated on the fly: definitions, and rows bound to data."""
