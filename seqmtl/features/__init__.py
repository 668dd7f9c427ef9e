"""Feature maps of sequences and numbers, computed on the fly."""
