"""The picture of a task kernel: where things lie, and that no text is cut or on another."""

import numpy as np
import pytest

from seqmtl import TaskKernel
from seqmtl._style import render
from seqmtl.relations import read_tree
from seqmtl.relations.figure import draw_kernel
from seqmtl.relations.layout import lay_out

TREE = "((ape:1,man:2)primates:3,(fly:4,bee:5,ant:6)insects,yeast:0.5)root;"
LONG = "Strongylocentrotus_purpuratus_with_a_name_of_more_than_fifty_letters"


def _texts(figure):
    """Texts that are drawn: not those of ticks outside the axes."""
    figure.canvas.draw()
    texts = figure.findobj(lambda artist: hasattr(artist, "get_text"))
    texts = [text for text in texts if text.get_visible() and text.get_text().strip()]
    axes = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    shown = [tick for axis in axes for tick in axis._update_ticks()]
    ticks = [tick for axis in axes for tick in (*axis.majorTicks, *axis.minorTicks)]
    drawn, of_ticks = ({id(t) for k in ts for t in (k.label1, k.label2)} for ts in (shown, ticks))
    return [text for text in texts if id(text) in drawn or id(text) not in of_ticks]


def _check_texts(figure):
    """All texts inside the figure; those that are level do not overlap."""
    page, texts = figure.bbox, _texts(figure)
    for text in texts:
        box = text.get_window_extent()
        assert page.x0 <= box.x0 < box.x1 <= page.x1, text
        assert page.y0 <= box.y0 < box.y1 <= page.y1, text
    level = [text for text in texts if text.get_rotation() % 90 == 0]
    names = [text.get_text() for text in level]
    x0, y0, x1, y1 = np.array([text.get_window_extent().extents for text in level]).T
    width = np.minimum.outer(x1, x1) - np.maximum.outer(x0, x0)
    height = np.minimum.outer(y1, y1) - np.maximum.outer(y0, y0)
    for i, j in np.argwhere(np.minimum(width, height) > 1.0):
        assert i == j, (names[i], names[j])
    return names


def test_the_layout_by_hand():
    layout = lay_out(read_tree(TREE))
    assert layout.leaves == ["ape", "man", "fly", "bee", "ant", "yeast"]
    assert layout.tips == [4, 5, 5, 6, 7, 0.5]  # the branch of the insects counts 1
    assert layout.has_lengths
    assert sorted(layout.joints) == [(0, 0.5, 5), (1, 2, 4), (3, 0, 1)]
    branches = [(0, 0.5, 5), (0, 1, 3), (0, 3, 0.5), (1, 5, 2), (1, 6, 3), (1, 7, 4)]
    assert sorted(layout.branches) == [*branches, (3, 4, 0), (3, 5, 1)]
    labels = [(0, 1.5, "root"), (1, 2.5, "insects"), (3, 0.5, "primates")]
    assert sorted(layout.labels) == labels
    level = lay_out(read_tree("((a,b)x,c);"))
    assert (level.has_lengths, level.tips) == (False, [2, 2, 2])


class TestPicture:
    def test_a_shipped_tree(self):
        tree = read_tree("six_eukaryotes")
        shown = set(_check_texts(draw_kernel(TaskKernel.from_tree("six_eukaryotes"), tree)))
        assert {label for label in tree.labels if label} <= shown

    def test_rows_are_in_the_order_of_the_tree(self):
        kernel = TaskKernel.from_tree(TREE, ["yeast", "bee", "man", "ape", "ant"])
        figure = draw_kernel(kernel, read_tree(TREE))
        tree_axes, axes = figure.axes[:2]
        expected = ["ape", "man", "bee", "ant", "yeast"]
        assert [label.get_text() for label in axes.get_yticklabels()] == expected
        assert [label.get_text() for label in axes.get_xticklabels()] == expected
        drawn = axes.images[0].get_array()
        assert np.array_equal(drawn, kernel.restrict(expected).matrix)
        assert tree_axes.get_ylim() == axes.get_ylim() == (4.5, -0.5)
        assert tree_axes.get_xlim()[0] == 0 < 7 < tree_axes.get_xlim()[1]  # the farthest leaf
        assert [text.get_text() for text in axes.texts] == [f"{K:.2f}" for K in drawn.ravel()]
        _check_texts(figure)

    def test_of_many_tasks_and_kernels_some_are_drawn(self):
        names = [f"Genus_species{i}" for i in range(16)]
        newick = names[0]
        for name in names[1:]:
            newick = f"({newick},{name})"
        kernel = TaskKernel.hierarchical(f"{newick};")
        figure = draw_kernel(kernel, read_tree(f"{newick};"))
        assert figure.axes[0].get_xticks().size == 0  # no branch has a length
        assert len(figure.axes[1].texts) == 0
        wrapped = {text.replace("\n", "") for text in _check_texts(figure)}
        assert {"The first 12 of 15 kernels", *kernel.labels[:12]} <= wrapped
        assert kernel.labels[12] not in wrapped

    def test_a_picture_has_room_for_200_tasks(self):
        with pytest.raises(ValueError, match="room for 200 tasks, got 201; name some"):
            draw_kernel(TaskKernel.union([f"t{i}" for i in range(201)]))

    def test_without_a_tree_tasks_are_joined_by_their_similarity(self):
        K = np.full((4, 4), 0.1)
        K[0, 2] = K[2, 0] = 0.9
        np.fill_diagonal(K, 1)
        figure = draw_kernel(TaskKernel("abcd", K * 4))
        order = [label.get_text() for label in figure.axes[1].get_yticklabels()]
        assert abs(order.index("a") - order.index("c")) == 1
        shown = [text.replace("\n", " ") for text in _check_texts(figure)]
        assert "Tree: 1 - similarity by average linkage" in shown

    def test_long_names_and_signs_are_whole(self):
        names = [LONG, "a$b$", "c_d", "<e&f>"]
        newick = "(('{}':1,'{}':1)'{}_clade':9,({}:1,'{}':1):1);".format(
            *names[:2], LONG, *names[2:]
        )
        figure = draw_kernel(TaskKernel.hierarchical(newick), read_tree(newick))
        assert {LONG, r"a\$b\$", "c_d", f"{LONG}_clade"} <= set(_check_texts(figure))
        assert render(figure, "svg").startswith(b"<?xml")

    def test_several_kernels_are_small_below_their_mean(self):
        kernel = TaskKernel.smooth(np.array([[0, 1, 4], [1, 0, 5], [4, 5, 0]]), names="abc")
        figure = draw_kernel(kernel)
        assert {"3 kernels", *kernel.labels} <= set(_check_texts(figure))
        images = [axes.images[0] for axes in figure.axes if axes.images]
        rows = [label.get_text() for label in figure.axes[1].get_yticklabels()]
        ordered = kernel.restrict(rows)
        assert np.array_equal(images[0].get_array(), ordered.matrix)
        for image, K in zip(images[1:], ordered.matrices, strict=True):
            assert np.array_equal(image.get_array(), K)
            assert image.get_clim() == (0, 1)
