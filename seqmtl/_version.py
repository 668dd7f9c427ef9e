"""The version: that of the tag from which the package was built, as its metadata have it."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("seqmtl")
except PackageNotFoundError:  # files that were never installed
    __version__ = "0.dev0"
