"""Graphs of related tasks, from lists of edges."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.relations.relation_tables import Row, drop_header, read_rows, symmetric


def read_graph(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Read a weighted graph of related tasks.

    A line is an edge, ``a<TAB>b`` or ``a<TAB>b<TAB>weight``, or a single name, a task without
    edges. The default weight is 1. Edges are undirected. An edge may be given in both directions
    with the same weight.

    Parameters
    ----------
    path : str or path-like
        TSV file, plain or gzip. Lines that start with ``#`` are comments, and a first line of three
        names that do not occur again is a header.

    Returns
    -------
    names : tuple of str
        Tasks, in the order of the file.
    adjacency : ndarray, shape (T, T)
        A, symmetric, zero on the diagonal.

    Raises
    ------
    InputFormatError
        If the file is not a graph, a weight is negative or not finite, a task has an edge to
        itself, or two directions differ; the message gives file and line.
    """
    rows = read_rows(path, "a graph")
    names: dict[str, None] = {}
    edges = []
    for row in drop_header(rows):
        fields = row.fields
        if not all(fields) or len(fields) > 3:
            row.refuse(
                "a line must be a, b and optionally a weight, or a single task, got "
                f"{len(fields)} fields of which {fields.count('')} are empty; put one tab between"
            )
        names.update(dict.fromkeys(fields[:2]))
        if len(fields) == 1:
            continue
        if fields[0] == fields[1]:
            row.refuse(f"an edge must join two tasks, got {fields[0]!r} with itself; drop it")
        edges.append(row)
    if names and not edges and all(" " in name for name in names):
        rows[0].refuse(
            f"an edge must have tabs between a, b and weight, got {rows[0].fields[0]!r}; put some"
        )
    if not names:
        raise InputFormatError("a graph must have at least one task, got none", os.fspath(path))
    return tuple(names), np.nan_to_num(symmetric([*names], edges, Row.weight, "edges"), nan=0.0)
