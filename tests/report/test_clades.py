"""Clades of a large tree: means over their members, and a tree of them."""

import numpy as np
import pytest

from seqmtl.report.similarity_figure import collapse
from seqmtl.similarity import TaskKernel, read_tree

TREE = "(((a:1,b:1)ab:1,(c:1,d:1):1)abcd:1,((e:1,f:1):1,g:2):1);"


@pytest.mark.parametrize(
    ("most", "members", "names"),
    [
        (1, ["abcdefg"], ["(a..g) (7)"]),
        (2, ["abcd", "efg"], ["abcd (4)", "(e..g) (3)"]),
        (3, ["ab", "cd", "efg"], ["ab (2)", "(c..d) (2)", "(e..g) (3)"]),
        (5, ["a", "b", "cd", "ef", "g"], ["a", "b", "(c..d) (2)", "(e..f) (2)", "g"]),
        (9, list("abcdefg"), list("abcdefg")),
    ],
)
def test_clades_are_those_with_the_most_members_opened(most, members, names):
    rng = np.random.default_rng(0)
    A = rng.random((7, 7))
    kernel = TaskKernel("gfedcba", A @ A.T)
    found, tree = collapse(kernel, read_tree(TREE), most)
    assert sorted(found.names) == sorted(names)
    assert sorted(tree.leaf_names) == sorted(names)
    place = {name: i for i, name in enumerate("gfedcba")}
    for s, one in zip(names, members, strict=True):
        for t, other in zip(names, members, strict=True):
            mean = np.mean([kernel.matrix[place[x], place[y]] for x in one for y in other])
            i, j = found.names.index(s), found.names.index(t)
            assert found.matrix[i, j] == pytest.approx(mean)


def test_a_star_that_cannot_be_opened_is_one_clade():
    names = [f"t{i}" for i in range(9)]
    kernel = TaskKernel.union(names)
    found, tree = collapse(kernel, read_tree("(" + ",".join(names) + ");"), 5)
    assert found.names == tree.leaf_names == ("(t0..t8) (9)",)
