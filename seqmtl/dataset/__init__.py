"""Annotated genomes to labelled windows: sites, decoys, splits, and a check for leaks."""
