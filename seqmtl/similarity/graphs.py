"""Graphs of related tasks, from GraphML or edge lists."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.whole import read_text
from seqmtl.similarity._small_tables import drop_header, parse_amount, read_rows


def read_graph(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Read a weighted graph of related tasks.

    A line of an edge list is ``a<TAB>b``, ``a<TAB>b<TAB>weight``, or a single name, a task without
    edges. In GraphML a node is a task, named by its data ``name`` or ``label`` or else by its id,
    and the data ``weight`` of an edge is its weight. The default weight is 1. Edges are
    undirected. An edge may be given in both directions with the same weight; directed GraphML
    edges must be.

    Parameters
    ----------
    path : str or path-like
        GraphML or TSV file, plain or gzip. In TSV, lines that start with ``#`` are comments, and
        a first line of three words that do not occur again is a header.

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
        itself, or two directions differ; the message gives file and line or edge.
    """
    path = os.fspath(path)
    is_xml = read_text(path, "a graph").lstrip().startswith("<")
    names, edges = (_read_graphml if is_xml else _read_edges)(path)
    if not names:
        raise InputFormatError("a graph must have at least one task, got none", path=path)
    return tuple(names), _adjacency(names, edges, path)


class _Edge(NamedTuple):
    """An edge between two tasks, and its place in the file."""

    start: str
    end: str
    weight: float
    directed: bool
    line: int | None
    record: str | None


def _adjacency(names: list[str], edges: list[_Edge], path: str) -> NDArray[np.float64]:
    """Fill both triangles of A, and check that they agree."""
    number = {name: i for i, name in enumerate(names)}
    A = np.full((len(names), len(names)), np.nan)
    for edge in edges:
        s, t = number[edge.start], number[edge.end]
        if s == t:
            raise InputFormatError(
                f"an edge must join two tasks, got {edge.start!r} with itself; drop it",
                path=path,
                line=edge.line,
                record=edge.record,
            )
        for i, j in [(s, t)] if edge.directed else [(s, t), (t, s)]:
            if not (np.isnan(A[i, j]) or A[i, j] == edge.weight):
                raise InputFormatError(
                    f"an edge must have one weight, got {edge.weight:g} for ({edge.start}, "
                    f"{edge.end}) after {A[i, j]:g}; give one value per pair",
                    path=path,
                    line=edge.line,
                    record=edge.record,
                )
            A[i, j] = edge.weight
    A = np.nan_to_num(A, nan=0.0)
    if (A != A.T).any():
        s, t = np.argwhere(A != A.T)[0]
        raise InputFormatError(
            f"a directed graph must be symmetric, got {A[s, t]:g} from {names[s]!r} to "
            f"{names[t]!r} and {A[t, s]:g} back; make its edges undirected",
            path=path,
        )
    return A


def _read_edges(path: str) -> tuple[list[str], list[_Edge]]:
    names: dict[str, None] = {}
    edges = []
    for line, fields in drop_header(read_rows(path, "a graph")):
        if not all(fields) or len(fields) > 3:
            raise InputFormatError(
                "a line must be a, b and optionally a weight, or a single task, got "
                f"{len(fields)} fields of which {fields.count('')} are empty; put one tab between",
                path=path,
                line=line,
            )
        names.update(dict.fromkeys(fields[:2]))
        if len(fields) > 1:
            weight = fields[2] if len(fields) == 3 else "1"
            value = parse_amount(weight, "weight", path=path, line=line)
            edges.append(_Edge(fields[0], fields[1], value, False, line, None))
    return list(names), edges


def _read_graphml(path: str) -> tuple[list[str], list[_Edge]]:
    try:
        root = ElementTree.fromstring(read_text(path, "a graph"))
    except ElementTree.ParseError as error:
        raise InputFormatError(
            f"cannot be read as GraphML: {error}", path=path, line=error.position[0]
        ) from error
    found = list(_children(root, "graph"))
    if len(found) != 1 or _tag(root) != "graphml":
        raise InputFormatError(
            f"must hold one GraphML graph, got {len(found)} in <{_tag(root)}>; export one graph",
            path=path,
        )
    key_names = {
        key.get("id"): (key.get("attr.name") or "").lower() for key in _children(root, "key")
    }
    default = {
        key_names[key.get("id")]: (value.text or "").strip()
        for key in _children(root, "key")
        for value in _children(key, "default")
        if key.get("for") in ("edge", "all")
    }
    tasks = _graphml_tasks(found[0], key_names, path)
    return list(tasks.values()), list(_graphml_edges(found[0], tasks, key_names, default, path))


def _graphml_tasks(
    graph: ElementTree.Element, key_names: dict[str | None, str], path: str
) -> dict[str, str]:
    """Return the names of the nodes by id."""
    tasks: dict[str, str] = {}
    for node in _children(graph, "node"):
        data = _data(node, key_names)
        ident = node.get("id", "")
        name = data.get("name") or data.get("label") or ident
        if not name or ident in tasks or name in tasks.values():
            raise InputFormatError(
                f"nodes must have unique names, got {name!r} twice or empty; rename one",
                path=path,
                record=ident,
            )
        tasks[ident] = name
    return tasks


def _graphml_edges(
    graph: ElementTree.Element,
    tasks: dict[str, str],
    key_names: dict[str | None, str],
    default: dict[str, str],
    path: str,
) -> Iterator[_Edge]:
    for edge in _children(graph, "edge"):
        start, end = edge.get("source", ""), edge.get("target", "")
        record = f"{start} - {end}"
        if start not in tasks or end not in tasks:
            raise InputFormatError(
                "an edge must join two nodes of the graph; add the missing node",
                path=path,
                record=record,
            )
        text = (default | _data(edge, key_names)).get("weight", "1")
        weight = parse_amount(text, "weight", path=path, record=record)
        by_default = "true" if graph.get("edgedefault") == "directed" else "false"
        is_directed = edge.get("directed", by_default).lower() == "true"
        yield _Edge(tasks[start], tasks[end], weight, is_directed, None, record)


def _tag(element: ElementTree.Element) -> str:
    """Return the tag of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _children(element: ElementTree.Element, tag: str) -> Iterator[ElementTree.Element]:
    return (child for child in element if _tag(child) == tag)


def _data(element: ElementTree.Element, key_names: dict[str | None, str]) -> dict[str, str]:
    """Return the data of a node or edge by the names of their keys."""
    return {
        key_names.get(data.get("key"), data.get("key") or ""): (data.text or "").strip()
        for data in _children(element, "data")
    }
