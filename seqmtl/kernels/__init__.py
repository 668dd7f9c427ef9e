"""Base kernels k(x, z) of examples: on numbers, and on sequences compared directly."""
