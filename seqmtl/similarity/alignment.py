"""Distances from aligned sequences, such as the ribosomal RNA of every organism."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import read_text
from seqmtl.similarity.distances import Distances

_BASES = (b"Aa", b"Cc", b"Gg", b"TtUu")


def read_alignment_distances(path: str | os.PathLike[str]) -> Distances:
    """Return the share of mismatches between aligned sequences.

    A column counts for two organisms if both have a base (A, C, G, T or U in any case, where U
    is T) and not a gap, N or another letter. For small-subunit rRNA this is the distance of
    Widmer et al. 2015, section 4.3.

    Parameters
    ----------
    path : str or path-like
        FASTA file, plain or gzip, with sequences of equal length. The first word after ``>`` is
        the name of the organism: ``Genus_species``.

    Returns
    -------
    Distances
        Mismatches per shared column, 0 to 1, in the order of the file.

    Raises
    ------
    InputFormatError
        If the file is not an alignment of two or more organisms, a name is repeated, or two
        organisms share no column.
    """
    path = os.fspath(path)
    names, rows = _read_rows(path)
    letters = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)
    shared, same = _count_columns(letters)
    if not shared.all():
        s, t = np.argwhere(shared == 0)[0]
        raise InputFormatError(
            "organisms must share a column in which both have a base, got none for "
            f"{names[s]!r} and {names[t]!r}; realign them or leave one out",
            path=path,
        )
    # in integers, so that the distance of equal sequences is exactly 0
    return Distances(tuple(names), (shared - same) / shared, os.path.basename(path))


def _count_columns(letters: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the columns with two bases, and those with two equal bases, shape (T, T) each."""
    # float32 represents integers up to 2**24 exactly, and its matrix product is twice as fast
    dtype = np.dtype("f4" if letters.shape[1] < 1 << 24 else "f8")
    same = np.zeros((len(letters), len(letters)))
    any_base = np.zeros(letters.shape, dtype=dtype)
    for base in _BASES:
        has = np.asarray(np.isin(letters, np.frombuffer(base, dtype=np.uint8)), dtype=dtype)
        same += has @ has.T
        any_base += has
    return (any_base @ any_base.T).astype(np.int64), same.astype(np.int64)


def _read_rows(path: str) -> tuple[list[str], list[bytes]]:
    """Read names and sequences of equal length."""
    error = partial(InputFormatError, path=path)
    records: dict[str, tuple[int, list[str]]] = {}  # line of the header, and letters, by name
    parts: list[str] | None = None
    for line, content in enumerate(read_text(path, "a FASTA file").splitlines(), 1):
        if content.startswith(">"):
            name = (content[1:].split() or [""])[0]
            if not name:
                raise error("a record has no name; write >Genus_species", line=line)
            if name in records:
                raise error(
                    f"names must differ, got {name!r} twice; keep one sequence per organism",
                    line=line,
                )
            parts = []
            records[name] = line, parts
        elif content.strip():
            if parts is None:
                raise error("a FASTA file must start with a > line", line=line)
            parts.append("".join(content.split()))
    if len(records) < 2:
        raise error(f"an alignment must have at least 2 sequences, got {len(records)}")
    rows = {name: "".join(found).encode("ascii", "replace") for name, (_, found) in records.items()}
    first, length = next((name, len(row)) for name, row in rows.items())
    for name, row in rows.items():
        if len(row) != length:
            raise error(
                f"aligned sequences must have one length, got {len(row)} after {length} of "
                f"{first!r}; align them first",
                line=records[name][0],
                record=name,
            )
    return list(rows), list(rows.values())
