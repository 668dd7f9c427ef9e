"""Dual solvers: from rows or kernel matrices to weights, independent of DNA and trees."""
