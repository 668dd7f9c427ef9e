"""Import this before scikit-learn, which sets variables of the environment when it is imported."""

from seqmtl._surroundings import unchanged_environment

with unchanged_environment():
    import sklearn  # noqa: F401
