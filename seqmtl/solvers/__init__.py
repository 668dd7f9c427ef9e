"""Matrices to weights: dual solvers that know no DNA and no trees."""
