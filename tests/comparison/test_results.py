"""Documents, tables and figures of a comparison, against numbers worked out by hand."""

import pytest

from seqmtl.comparison.results import (
    Result,
    draw_comparison,
    make_document,
    summarize,
    to_markdown,
)
from seqmtl.evaluation.cells import Cell, best_of, mean_cell


def _result(split, method, a, b):
    names = ("auroc", "auprc_windows", "auroc_interval", "auprc_windows_interval")
    tasks = {
        name: dict(zip(names, (x, x / 2, [x - 0.1, x], [0.0, x]), strict=True))
        for name, x in (("a|b", a), ("fly", b))
    }
    return Result(split, method, tasks, {"fly": [{"C": 1.0}]}, True)


RESULTS = [
    _result(0, "union", 0.6, 0.9),
    _result(0, "mtl", 0.7, 0.9),
    _result(1, "union", 0.8, 0.9),
    _result(1, "mtl", 0.7, 0.8),
]


@pytest.fixture
def document():
    return make_document(RESULTS, {"seed": 0}, {"fly": {}})


def test_the_document_has_one_value_per_split(document):
    assert document["methods"]["union"]["tasks"]["a|b"] == {
        "auroc": [0.6, 0.8],
        "auroc_interval": [[0.5, 0.6], [pytest.approx(0.7), 0.8]],
        "auprc_windows": [0.3, 0.4],
        "auprc_windows_interval": [[0.0, 0.6], [0.0, 0.8]],
    }
    assert document["splits"] == [0, 1]
    assert document["schema_version"] == 2
    assert make_document(RESULTS[::-1], {"seed": 0}, {"fly": {}}) == document


def test_means_spreads_and_no_winner_of_ties(document):
    table = summarize(document, "auroc")
    assert table["a|b"]["union"][:2] == pytest.approx((0.7, 0.02**0.5))
    assert table["fly"]["union"][:2] == pytest.approx((0.9, 0.0), abs=1e-12)
    assert table["mean"]["union"][:2] == pytest.approx((0.8, 0.005**0.5))
    assert list(table) == ["a|b", "fly", "mean"]
    lines = [
        [field.strip() for field in line.replace(r"\|", "/").split("|")[1:-1]]
        for line in to_markdown(document).splitlines()
    ]
    assert lines[0] == ["AUROC", "union", "mtl"]
    assert lines[2] == ["a/b", "0.7000 ± 0.1414", "0.7000 ± 0.0000"]  # a tie
    assert lines[3] == ["fly", "0.9000 ± 0.0000", "0.8500 ± 0.0707"]  # within 0.0707
    assert lines[4][0] == "mean"


def test_what_leads_by_more_than_the_intervals_is_best():
    low, middle, high = (Cell(x, None, (x - 0.02, x + 0.02)) for x in (0.70, 0.71, 0.80))
    for cells, best in (
        ({"a": low, "b": middle, "c": high}, {"c"}),
        ({"a": low, "b": middle}, set()),
        ({"a": low, "b": high, "c": Cell(0.79, None)}, {"b", "c"}),
        ({"a": low, "b": Cell(float("nan"), None)}, set()),
        ({"a": Cell(0.70001, None), "b": Cell(0.70002, None)}, set()),  # as displayed
        ({"a": Cell(0.71, 0.005), "b": Cell(0.70, 0.004)}, {"a"}),
        ({}, set()),
    ):
        assert best_of(cells) == best


def test_errors_of_a_mean_add_up_in_squares():
    cells = [Cell(0.5, None, (0.47, 0.53)), Cell(0.7, None, (0.66, 0.72))]
    mean = mean_cell(cells)
    assert mean.mean == pytest.approx(0.6)
    assert mean.interval == pytest.approx((0.6 - 0.05 / 2, 0.6 + 13**0.5 / 200))
    assert mean_cell([*cells, Cell(0.6, None)]).interval is None


def test_one_split_has_no_spread_and_what_is_drawn_is_described():
    text = to_markdown(make_document(RESULTS[:2], {}, {}))
    assert "±" not in text
    assert "0.6000 (0.5000-0.6000)" in text
    assert "One split, with 95 % bootstrap intervals" in text
    for drawn, note in (
        (("train", "test"), "standard deviation over 2 splits;"),
        (("train",), "over 2 splits, which differ in their training windows; the test windows are"),
    ):
        assert note in to_markdown(make_document(RESULTS, {}, {}, drawn))


def test_the_figure_shows_every_mean(document):
    figure = draw_comparison(document)
    for axes, metric in zip(figure.axes, ("auroc", "auprc_windows"), strict=True):
        dots = {line.get_label(): list(line.get_xdata()) for line in axes.lines}
        table = summarize(document, metric)
        for method in ("union", "mtl"):
            assert dots[method] == [cells[method].mean for cells in table.values()]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["a|b", "fly", "mean"]
    figure = draw_comparison(document | {"drawn": ["train"]})
    figure.canvas.draw()
    note, box = figure._supxlabel, figure._supxlabel.get_window_extent()
    assert note.get_text().replace("\n", " ").endswith("the test windows are the same in all")
    assert 0 < box.x0 < box.x1 < figure.bbox.x1  # not cut off
