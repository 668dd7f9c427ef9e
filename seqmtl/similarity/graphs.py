"""Graphs of related tasks, from GraphML or edge lists."""

from __future__ import annotations

import os
from collections.abc import Iterator
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import read_text
from seqmtl.similarity.relation_tables import Pair, Place, drop_header, read_rows, symmetric


def components(A: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the connected component of every task, numbered from 0, shape (T,)."""
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(A != 0.0, directed=False)[1], dtype=np.int64)


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
    whole = Place(os.fspath(path))
    is_xml = read_text(path, "a graph").lstrip().startswith("<")
    names, edges = _GraphML(whole).read() if is_xml else _read_edges(whole.path)
    if not names:
        whole.refuse("a graph must have at least one task, got none")
    for edge in edges:
        if edge.one == edge.other:
            edge.place.refuse(f"an edge must join two tasks, got {edge.one!r} with itself; drop it")
    A = np.nan_to_num(symmetric(names, edges, "edges"), nan=0.0)
    if (A != A.T).any():
        s, t = np.argwhere(A != A.T)[0]
        whole.refuse(
            f"a directed graph must be symmetric, got {A[s, t]:g} from {names[s]!r} to "
            f"{names[t]!r} and {A[t, s]:g} back; make its edges undirected"
        )
    return tuple(names), A


def _read_edges(path: str) -> tuple[list[str], list[Pair]]:
    names: dict[str, None] = {}
    edges = []
    for place, fields in drop_header(read_rows(path, "a graph")):
        if not all(fields) or len(fields) > 3:
            place.refuse(
                "a line must be a, b and optionally a weight, or a single task, got "
                f"{len(fields)} fields of which {fields.count('')} are empty; put one tab between"
            )
        names.update(dict.fromkeys(fields[:2]))
        if len(fields) > 1:
            value = place.amount([*fields, "1"][2], "weight")
            edges.append(Pair(fields[0], fields[1], value, place))
    return list(names), edges


class _GraphML:
    """A file with one graph in GraphML."""

    def __init__(self, whole: Place) -> None:
        self._whole = whole
        try:
            root = ElementTree.fromstring(read_text(whole.path, "a graph"))
        except ElementTree.ParseError as error:
            message = f"cannot be read as GraphML: {error}"
            raise InputFormatError(message, whole.path, error.position[0]) from error
        graphs, keys = list(_children(root, "graph")), list(_children(root, "key"))
        if len(graphs) != 1 or _tag(root) != "graphml":
            found = f"{len(graphs)} in <{_tag(root)}>"
            whole.refuse(f"must hold one GraphML graph, got {found}; export one graph")
        self._graph = graphs[0]
        self._key_names = {key.get("id", ""): (key.get("attr.name") or "").lower() for key in keys}
        self._default = {
            self._key_names[key.get("id", "")]: (value.text or "").strip()
            for key in keys
            for value in _children(key, "default")
            if key.get("for") in ("edge", "all")
        }

    def read(self) -> tuple[list[str], list[Pair]]:
        """Return the tasks and their edges."""
        tasks: dict[str, str] = {}
        for node in _children(self._graph, "node"):
            data, ident = self._data(node), node.get("id", "")
            name = data.get("name") or data.get("label") or ident
            if not name or ident in tasks or name in tasks.values():
                self._whole._replace(record=ident).refuse(
                    f"nodes must have unique names, got {name!r} twice or empty; rename one"
                )
            tasks[ident] = name
        edges = [self._pair(edge, tasks) for edge in _children(self._graph, "edge")]
        return list(tasks.values()), edges

    def _pair(self, edge: ElementTree.Element, tasks: dict[str, str]) -> Pair:
        start, end = edge.get("source", ""), edge.get("target", "")
        place = self._whole._replace(record=f"{start} - {end}")
        if start not in tasks or end not in tasks:
            place.refuse("an edge must join two nodes of the graph; add the missing node")
        weight = place.amount((self._default | self._data(edge)).get("weight", "1"), "weight")
        by_default = "true" if self._graph.get("edgedefault") == "directed" else "false"
        is_directed = edge.get("directed", by_default).lower() == "true"
        return Pair(tasks[start], tasks[end], weight, place, is_directed)

    def _data(self, element: ElementTree.Element) -> dict[str, str]:
        """Return the data of a node or edge by the names of their keys."""
        found = {}
        for data in _children(element, "data"):
            key = data.get("key", "")
            found[self._key_names.get(key, key)] = (data.text or "").strip()
        return found


def _tag(element: ElementTree.Element) -> str:
    """Return the tag of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _children(element: ElementTree.Element, tag: str) -> Iterator[ElementTree.Element]:
    return (child for child in element if _tag(child) == tag)
