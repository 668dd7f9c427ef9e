"""Newick trees (Bio.Phylo) to the paths from the root to every leaf."""

from __future__ import annotations

import gzip
import io
import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError

#: The branches from the root to a leaf: (number of the branch, distance of its lower end).
Path = list[tuple[int, float]]


def describe(tree: str | os.PathLike[str]) -> str:
    """Name a tree for messages: its file, or "text" where it was given as Newick."""
    return "text" if _is_text(tree) else os.path.basename(os.fspath(tree))


def read_leaf_paths(tree: str | os.PathLike[str]) -> tuple[list[str], list[Path]]:
    """Read a tree and return its leaves with the branches above each.

    Parameters
    ----------
    tree : str or path-like
        Newick file (plain or gzip) or Newick text.

    Raises
    ------
    InputFormatError
        If there is no tree, more than one, or names or lengths are unusable.
    """
    where = describe(tree)
    root = _parse(_load(tree), where).root
    leaves: list[str] = []
    paths: list[Path] = []
    n_branches = 0
    stack: list[tuple[Any, Path]] = [(root, [])]
    while stack:
        clade, path = stack.pop()
        if clade is not root:
            length = 1.0 if clade.branch_length is None else float(clade.branch_length)
            if not (math.isfinite(length) and length >= 0):
                raise InputFormatError(
                    f"branch lengths must be numbers from 0, got {length:g} above "
                    f"{clade.name or 'an inner node'!r}; mend the tree",
                    path=where,
                )
            path = [*path, (n_branches, (path[-1][1] if path else 0.0) + length)]
            n_branches += 1
        if clade.clades:
            stack.extend((child, path) for child in reversed(clade.clades))
            continue
        name = (clade.name or "").strip()
        if not name or name in leaves:
            problem = f"has the leaf {name!r} twice" if name else "has a leaf without a name"
            raise InputFormatError(f"the tree {problem}; leaves need distinct names", path=where)
        leaves.append(name)
        paths.append(path)
    return leaves, paths


def shared_lengths(paths: list[Path]) -> NDArray[np.float64]:
    """Return the length of the path that every two leaves share from the root, shape (T, T)."""
    T = len(paths)
    shared = np.zeros((T, T))
    for s in range(T):
        depth_of_branch = dict(paths[s])
        for t in range(s + 1):
            for branch, _ in reversed(paths[t]):
                if branch in depth_of_branch:
                    shared[s, t] = shared[t, s] = depth_of_branch[branch]
                    break
    return shared


def _is_text(tree: str | os.PathLike[str]) -> bool:
    return isinstance(tree, str) and ("(" in tree or ";" in tree)


def _load(tree: str | os.PathLike[str]) -> str:
    if _is_text(tree):
        return str(tree)
    path = os.fspath(tree)
    try:
        with open(path, "rb") as stream:
            raw = stream.read()
        return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputFormatError(f"cannot be read as a Newick tree: {error}", path=path) from error


def _parse(text: str, where: str) -> Any:
    from Bio.Phylo.NewickIO import NewickError, Parser

    try:
        found = list(Parser(io.StringIO(text)).parse())
    except (NewickError, ValueError, RecursionError) as error:
        raise InputFormatError(
            f"is not a Newick tree: {error or 'too deep'}", path=where
        ) from error
    if len(found) != 1 or "(" not in text:
        raise InputFormatError(f"must hold one Newick tree, got {len(found)}", path=where)
    return found[0]
