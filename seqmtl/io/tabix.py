"""The index that lets tabix and genome browsers read parts of a bgzip file."""

from __future__ import annotations

import os
from contextlib import suppress

_LONGEST_TBI = 1 << 29


def drop_index(path: str | os.PathLike[str]) -> None:
    """Remove the indexes of a file that is about to be replaced."""
    for suffix in (".tbi", ".csi"):
        with suppress(FileNotFoundError):
            os.unlink(f"{os.fspath(path)}{suffix}")


def write_index(path: str | os.PathLike[str], preset: str, longest: int) -> str:
    """Index a sorted bgzip file and return the path of the index.

    Parameters
    ----------
    path : path-like
        The file.
    preset : {"bed", "gff"}
        Which columns hold the intervals.
    longest : int
        Upper bound on the coordinates; beyond 2**29 the index is .csi instead of .tbi.

    Raises
    ------
    ImportError
        If pysam is not installed.
    """
    try:
        import pysam
    except ImportError as error:
        raise ImportError("an index needs pysam: pip install 'seqmtl[genome]'") from error
    use_csi = longest > _LONGEST_TBI
    name = os.fspath(path)
    pysam.tabix_index(name, preset=preset, force=True, csi=use_csi, keep_original=True)
    return f"{name}.{'csi' if use_csi else 'tbi'}"
