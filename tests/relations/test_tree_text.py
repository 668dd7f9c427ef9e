"""Weighted groups as text."""

import pytest

from seqmtl import TaskKernel
from seqmtl.relations.tree_text import draw_tree_text

TREE = "(((ape,man)apes,cow)mammals,(fly,bee)insects,yeast)all;"


def _shown(kernel, theta):
    members = [
        [name for name, value in zip(kernel.names, K.diagonal(), strict=True) if value]
        for K in kernel.matrices
    ]
    return draw_tree_text(kernel.labels, members, theta)


def test_nested_groups_are_indented_with_their_own_members():
    text = _shown(TaskKernel.hierarchical(TREE), [0.5, 0.25, 0.0, 1e-9])
    assert text == (
        "all        0.500  ####################\n"
        "  yeast\n"
        "  mammals  0.250  ##########\n"
        "    cow\n"
        "    apes   0.000\n"
        "      ape, man\n"
        "  insects  0.000  #\n"
        "    fly, bee\n"
    )


@pytest.mark.parametrize(
    "members", [["abc", "abc", "abc"], ["ab", "bc", "abc"]], ids=["equal", "overlap"]
)
def test_other_groups_are_a_plain_list(members):
    text = draw_tree_text(["s=1", "s=20", "s"], members, [0.1, 0.2, 0.0])
    assert text == "s=1   0.100  ##########\ns=20  0.200  ####################\ns     0.000\n"


def test_many_members_are_wrapped_and_names_stay_whole():
    names = [f"Genus_species-{i}" for i in range(30)]
    lines = draw_tree_text(["all"], [names], [1.0]).splitlines()
    assert max(map(len, lines)) <= 79
    assert ", ".join(line.strip().rstrip(",") for line in lines[1:]).split(", ") == names
    assert all(line.startswith("  Genus") for line in lines[1:])


def test_no_kernels_and_no_weights():
    assert draw_tree_text([], [], []) == ""
    assert draw_tree_text(["a"], ["x"], [0.0]) == "a  0.000\n  x\n"
