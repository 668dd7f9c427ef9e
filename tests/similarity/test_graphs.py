"""Graphs of tasks from GraphML and lists of edges."""

import gzip

import numpy as np
import pytest

from seqmtl.exceptions import InputFormatError
from seqmtl.similarity.graphs import read_graph

EDGES = "# three and one\na\tb\nb\tc\t0.5\nlonely\n"
EXPECTED = np.array([[0, 1, 0, 0], [1, 0, 0.5, 0], [0, 0.5, 0, 0], [0, 0, 0, 0]])
KEYS = (
    '<key id="d0" for="node" attr.name="name" attr.type="string"/>'
    '<key id="d1" for="edge" attr.name="weight" attr.type="double">'
    "<default>1.0</default></key>"
)


def graphml(body, edgedefault="undirected", keys=KEYS):
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'{keys}<graph id="G" edgedefault="{edgedefault}">\n{body}\n</graph></graphml>\n'
    )


NODES = "".join(f'<node id="{name}"/>' for name in ("a", "b", "c", "lonely"))
JOINED = (
    '<edge source="a" target="b"/><edge source="c" target="b"><data key="d1"> 0.5 </data></edge>'
)


@pytest.mark.parametrize(
    "content",
    [
        EDGES.encode(),
        gzip.compress(EDGES.encode()),
        b"\xef\xbb\xbf" + EDGES.replace("\n", "\r\n").encode(),
        b"one\tother\tweight\n" + EDGES.encode(),
        (EDGES + "c\tb\t0.5\na\tb\t1\n").encode(),
        graphml(NODES + JOINED).encode(),
        gzip.compress(graphml(NODES + JOINED).encode()),
        b"\xef\xbb\xbf" + graphml(NODES + JOINED).replace("\n", "\r\n").encode(),
    ],
)
def test_one_graph_in_many_files(write, content):
    names, A = read_graph(write(content))
    assert names == ("a", "b", "c", "lonely")
    np.testing.assert_array_equal(A, EXPECTED)


@pytest.mark.parametrize("attribute", ["name", "label", "Label"])
def test_names_of_nodes(write, attribute):
    keys = f'<key id="k" for="node" attr.name="{attribute}"/>'
    nodes = '<node id="n0"><data key="k">fly</data></node><node id="n1"/>'
    names, A = read_graph(write(graphml(nodes + '<edge source="n0" target="n1"/>', keys=keys)))
    assert names == ("fly", "n1")
    assert A[0, 1] == 1.0


def test_default_weight_of_graphml(write):
    keys = '<key id="w" for="edge" attr.name="weight"><default>0.25</default></key>'
    nodes = '<node id="a"/><node id="b"/><edge source="a" target="b"/>'
    assert read_graph(write(graphml(nodes, keys=keys)))[1][0, 1] == 0.25


def test_directed_graphs_must_be_symmetric(write):
    back = (
        '<edge source="b" target="a"/><edge source="b" target="c"><data key="d1">.5</data></edge>'
    )
    names, A = read_graph(write(graphml(NODES + JOINED + back, "directed")))
    assert names == ("a", "b", "c", "lonely")
    np.testing.assert_array_equal(A, EXPECTED)
    own = JOINED.replace("<edge", '<edge directed="false"')
    np.testing.assert_array_equal(read_graph(write(graphml(NODES + own, "directed")))[1], EXPECTED)
    with pytest.raises(InputFormatError, match="directed graph must be symmetric, got 1 from 'a'"):
        read_graph(write(graphml(NODES + JOINED, "directed")))
    with pytest.raises(InputFormatError, match="must be symmetric, got 0 from 'a' to 'b' and 1"):
        read_graph(write(graphml(NODES + '<edge directed="true" source="b" target="a"/>')))


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "at least one task, got none"),
        ("a\ta\n", 1, "an edge must join two tasks, got 'a' with itself"),
        ("a\tb\na\tb\t-1\n", 2, "weight must be a finite number from 0, got '-1'"),
        ("a\tb\tnan\n", 1, "weight must be a finite number from 0, got 'nan'"),
        ("a\tb\t1,5\n", 1, "weight must be a finite number from 0, got '1,5'"),
        ("a\tb\theavy\nb\tc\t1\n", 1, "weight must be a finite number from 0, got 'heavy'"),
        ("a\tb\nb\tc\theavy\n", 2, "weight must be a finite number from 0, got 'heavy'"),
        ("a\tb\t1\nb\ta\t2\n", 2, "edges must have one value per pair, got 2 for .b, a. after 1"),
        ("a\t\tb\n", 1, "got 3 fields of which 1 are empty"),
        ("a\tb\t1\tx\n", 1, "a line must be a, b and optionally a weight"),
    ],
)
def test_refused_edges(write, content, line, message):
    path = write(content)
    with pytest.raises(InputFormatError, match=message) as info:
        read_graph(path)
    assert (info.value.path, info.value.line) == (str(path), line)


@pytest.mark.parametrize(
    ("content", "record", "message"),
    [
        (graphml(""), None, "at least one task, got none"),
        (graphml(NODES + '<edge source="a" target="a"/>'), "a - a", "'a' with itself"),
        (graphml(NODES + '<edge source="a" target="z"/>'), "a - z", "join two nodes of the graph"),
        (graphml(NODES + '<node id="a"/>'), "a", "unique names, got 'a' twice"),
        (graphml('<node id="x"><data key="d0">y</data></node><node id="y"/>'), "y", "'y' twice"),
        (graphml("<node/>"), "", "unique names, got '' twice or empty"),
        (
            graphml(NODES + JOINED.replace("0.5", "NaN")),
            "c - b",
            "weight must be a finite number from 0, got 'NaN'",
        ),
        (
            graphml(NODES + JOINED + JOINED.replace("0.5", "2")),
            "c - b",
            "edges must have one value per pair, got 2 for .c, b. after 0.5",
        ),
        ("<graphml></graphml>", None, "must hold one GraphML graph, got 0"),
        ("<gexf><graph/></gexf>", None, "must hold one GraphML graph, got 1 in <gexf>"),
    ],
)
def test_refused_graphml(write, content, record, message):
    path = write(content)
    with pytest.raises(InputFormatError, match=message) as info:
        read_graph(path)
    assert (info.value.path, info.value.record) == (str(path), record)


def test_broken_xml(write):
    with pytest.raises(InputFormatError, match="cannot be read as GraphML: mismatched tag") as info:
        read_graph(write("<graphml>\n<graph>\n</graphml>"))
    assert info.value.line == 3
