"""Slow and obvious implementations that the tests compare with."""
