"""How many threads BLAS uses, by threadpoolctl, whose import sets ``KMP_DUPLICATE_LIB_OK``."""

from seqmtl._surroundings import unchanged_environment

with unchanged_environment():
    from threadpoolctl import threadpool_limits

__all__ = ["threadpool_limits"]
