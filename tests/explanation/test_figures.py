"""What the pictures show, read back from what was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from seqmtl import PositionalKmers
from seqmtl._style import LETTER_COLOURS, figure_style, new_figure, render
from seqmtl.explanation import (
    contributions,
    draw_contributions,
    draw_logo,
    draw_poim,
    mutagenesis,
    poim,
)
from seqmtl.explanation.figures import draw_letters, extent, visible_range
from seqmtl.linear_model.site import Site
from seqmtl.sequences import Windows
from tests.explanation.test_poim import make_model


@pytest.fixture
def found():
    return poim(make_model(PositionalKmers("wd:3"), 20, offset=12), "a", max_order=4)


def drawn(axes):
    """Extent of the letters of each colour: {colour: (x0, y0, x1, y1)}."""
    from matplotlib.colors import to_hex
    from matplotlib.patches import PathPatch

    return {
        to_hex(patch.get_facecolor()).upper(): patch.get_path().get_extents().extents
        for patch in axes.patches
        if isinstance(patch, PathPatch)
    }


def test_letters_stand_where_and_as_high_as_they_should():
    values = np.array([[0.5, -0.25, 1.0, -2.0]])
    with figure_style():
        axes = new_figure(3, 3).subplots()
        draw_letters(axes, values, np.array([7]))
    a, c, g, t = (drawn(axes)[colour] for colour in LETTER_COLOURS)
    for box in (a, c, g, t):
        np.testing.assert_allclose(box[[0, 2]], [6.53, 7.47])
    # the smaller is nearer to the line, those below 0 hang
    np.testing.assert_allclose(a[[1, 3]], [0, 0.5], atol=1e-12)
    np.testing.assert_allclose(g[[1, 3]], [0.5, 1.5], atol=1e-12)
    np.testing.assert_allclose(c[[1, 3]], [-0.25, 0], atol=1e-12)
    np.testing.assert_allclose(t[[1, 3]], [-2.25, -0.25], atol=1e-12)
    low, high = extent(values)
    assert low < -2.25 < 1.5 < high
    assert extent(np.zeros((3, 4))) == (-1.0, 1.0)


def test_poim_figure_has_its_values_at_their_positions(found):
    figure = draw_poim(found)
    heat, lines = figure.axes[:2]
    image = heat.get_images()[0]
    np.testing.assert_allclose(image.get_array().filled(np.nan), found.importance())
    assert tuple(image.get_extent()) == (-12.5, 7.5, 0.5, 4.5)
    by_letter = {line.get_label(): line for line in lines.lines}
    for code, letter in enumerate("ACGT"):
        np.testing.assert_array_equal(by_letter[letter].get_xdata(), np.arange(-12, 8))
        np.testing.assert_array_equal(by_letter[letter].get_ydata(), found.Q[0][:, code])
    assert 0 in lines.get_xticks()


def test_logos_are_around_the_site_in_rows_of_one_scale(found):
    assert len(draw_logo(found).axes) == 1
    names = ("a", "b")
    long = [
        poim(make_model(PositionalKmers("wd:2"), 141, offset=69), t, max_order=2) for t in names
    ]
    rows = draw_logo(*long).axes
    assert [axes.get_title(loc="left") for axes in rows] == list(names)
    assert rows[0].get_ylim() == rows[1].get_ylim()
    for axes in rows:
        first, last = axes.get_xlim()
        assert first < -0.5 < 1.5 < last
        assert last - first <= 2 * 40 + 8
        for box in drawn(axes).values():
            assert first < box[0] < box[2] < last


def test_flat_ends_are_cut_and_tall_stacks_kept():
    site, stacks = Site(100, 2, "GT"), np.zeros(241)
    assert visible_range(stacks, site) == (97, 105)  # the site and a little more
    stacks[95:110] = 1.0
    assert visible_range(stacks, site) == (94, 111)
    stacks[50:200] = np.maximum(stacks[50:200], 0.1)  # low, but not flat
    assert visible_range(stacks, site) == (80, 121)
    stacks[70] = 0.5  # as the TATA box of a transcription start
    assert visible_range(stacks, site) == (68, 121)
    stacks[10] = 1.0  # too far
    assert visible_range(stacks, site) == (68, 121)
    assert visible_range(np.ones(3), Site(0, 2, "GT")) == (0, 3)


def test_contributions_figure_has_a_logo_and_a_heat_map_per_window():
    model = make_model(PositionalKmers("wd:3"), 20, offset=12)
    windows = Windows.from_strings(["ACGTN" * 4, "GATTACAGATTACAGATTAC"])
    parts, changes = (explain(model, windows, "a") for explain in (contributions, mutagenesis))
    figure = draw_contributions(windows.matrix(), parts, changes, ["one", "two $x$"], model.site)
    logos = [axes for axes in figure.axes if axes.get_ylabel() == "Contribution\nto the score"]
    heats = [axes for axes in figure.axes if axes.get_ylabel() == "Mutated to"]
    assert [axes.get_title(loc="left") for axes in logos] == ["one", r"two \$x\$"]
    for heat, change in zip(heats, changes, strict=True):
        np.testing.assert_array_equal(heat.get_images()[0].get_array(), change.T)
        assert heat.get_images()[0].get_extent()[:2] == [-12.5, 7.5]
        assert [label.get_text() for label in heat.get_yticklabels()] == list("ACGT")
    highest = max(box[3] for box in drawn(logos[1]).values())
    assert highest == pytest.approx(parts[1].max())


def test_contributions_end_with_the_longest_window():
    letters = Windows.from_strings(["ACGT", "ACGTNAN", "ACGTACNNN"], pad=True).matrix()
    figure = draw_contributions(
        letters, np.ones((3, 9)), np.ones((3, 9, 4)), ["1", "2", "3"], Site(0, 0, "")
    )
    heats = [axes for axes in figure.axes if axes.get_ylabel() == "Mutated to"]
    assert [axes.get_images()[0].get_extent()[:2] for axes in heats] == [[-0.5, 5.5]] * 3


def test_figures_are_the_same_twice_and_drawn_for_windows_of_one_base(found):
    for draw in (draw_poim, draw_logo):
        assert render(draw(found), "svg") == render(draw(found), "svg")
    one_base = poim(make_model(PositionalKmers("wd:1"), 1, offset=0), "a", max_order=1)
    assert render(draw_poim(one_base), "png")
    assert render(draw_logo(one_base), "png")
