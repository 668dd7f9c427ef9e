"""Figures of the evaluation: what is drawn, and that files are whole."""

import builtins

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.metrics import auc, average_precision_score, roc_auc_score

from seqmtl._style import line_style, point_style, save_figure
from seqmtl.evaluation import draw_curves, draw_reliability, expected_sites
from seqmtl.exceptions import SeqmtlError


def make_data(names=("fly", "worm"), n=600, shift=1.5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.random(len(names) * n) < 0.2
    return labels, rng.normal(size=labels.size) + shift * labels, np.repeat(names, n)


def legend_texts(legend):
    return [text.get_text() for text in legend.get_texts()]


@pytest.fixture(scope="module")
def figure():
    return draw_curves(*make_data())


def test_formats_and_no_leftovers(figure, tmp_path):
    for suffix, magic in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")):
        save_figure(figure, tmp_path / f"curves.{suffix}")
        assert (tmp_path / f"curves.{suffix}").read_bytes().startswith(magic)
    assert len(list(tmp_path.iterdir())) == 3
    pixels = imread(tmp_path / "curves.png")
    assert 0.5 < (pixels[..., :3].min(axis=2) > 0.99).mean() < 0.99


def test_areas_in_the_legend_and_names_of_the_axes(figure):
    labels, scores, tasks = make_data()
    shown = []
    for name in ("fly", "worm"):
        own = labels[tasks == name], scores[tasks == name]
        areas = [metric(*own) for metric in (average_precision_score, roc_auc_score)]
        shown.append("  ".join([*(f"{area:.3f}" for area in areas), name]))
    assert legend_texts(figure.legends[0]) == shown
    assert figure.legends[0].get_title().get_text() == "AUPRC, AUROC"
    names = [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes]
    assert names == [("Recall", "Precision"), ("False positive rate", "True positive rate")]


def test_drawn_curves_have_the_areas():
    labels, scores, tasks = make_data(names=("fly",), n=20_000)
    pr, roc = draw_curves(labels, scores, tasks).axes
    x, y = roc.lines[1].get_data()
    assert x.size < 2100
    assert auc(x, y) == pytest.approx(roc_auc_score(labels, scores), abs=1e-3)
    (curve,), (chance,) = pr.lines, pr.patches
    assert chance.get_y() == labels.mean()
    recall, precision = curve.get_data()
    assert curve.get_drawstyle() == "steps-pre"
    area = np.sum(np.diff(recall) * precision[1:])
    assert area == pytest.approx(average_precision_score(labels, scores), abs=2e-3)


def test_many_tasks_share_one_legend_outside():
    names = [f"d_melanogaster {t}, acceptor paired" for t in range(40)]
    figure = draw_curves(*make_data(names, n=60))
    assert all(axes.get_legend() is None for axes in figure.axes)
    texts = legend_texts(figure.legends[0])
    assert [text.split("  ")[2] for text in texts] == names
    figure.draw_without_rendering()
    of_legend = figure.legends[0].get_window_extent()
    assert figure.bbox.x0 <= of_legend.x0 < of_legend.x1 <= figure.bbox.x1
    assert len({str(line_style(index)) for index in range(28)}) == 28
    assert len({str(point_style(index)) for index in range(49)}) == 49


def test_of_many_tasks_the_extremes_are_drawn():
    rng = np.random.default_rng(0)
    tasks = np.repeat([f"t{i:02}" for i in range(60)], 40)
    labels = np.tile(np.arange(40) < 10, 60)
    scores = rng.normal(size=tasks.size) + np.repeat(rng.permutation(60) / 20, 40) * labels
    figure = draw_curves(labels, scores, tasks)
    title = figure.get_suptitle().replace("\n", " ")
    assert title == "28 of 60 tasks: the lowest and the highest AUPRC"
    areas = np.array(
        [average_precision_score(labels[tasks == t], scores[tasks == t]) for t in np.unique(tasks)]
    )
    ends = np.sort(np.argsort(areas)[[*range(14), *range(-14, 0)]])
    shown = [text.split()[-1] for text in legend_texts(figure.legends[0])]
    assert shown == [f"t{i:02}" for i in ends]


def test_one_class_is_left_out_with_a_warning(caplog):
    labels, scores, tasks = make_data()
    labels[tasks == "worm"] = False
    figure = draw_curves(labels, scores, tasks)
    assert "'worm' has one class only" in caplog.text
    assert len(figure.legends[0].get_texts()) == 1
    with pytest.raises(ValueError, match="labels must hold both classes in at least one task"):
        draw_curves(np.zeros(4), np.arange(4.0), ["a"] * 4)


def test_files_that_cannot_be_written(figure, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .png, .svg or .pdf, got '.*x.jpeg'"):
        save_figure(figure, tmp_path / "x.jpeg")
    with pytest.raises(SeqmtlError, match=r"cannot write .*: No such file or directory"):
        save_figure(figure, tmp_path / "absent" / "curves.png")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"run: pip install matplotlib"):
        draw_curves(*make_data(n=50))


def test_reliability_shows_the_bins():
    labels, scores, tasks = make_data(n=2000)
    found = expected_sites(labels, 1 / (1 + np.exp(-scores)), tasks)
    figure = draw_reliability({**found, "none": {}})
    shares, counts = figure.axes[:2], figure.axes[2:]
    for above, below, (name, task) in zip(shares, counts, found.items(), strict=True):
        bins = task["reliability"][2:]
        x = np.clip([row["expected"] / row["n"] for row in bins], 1e-4, 0.99)
        share = np.clip([row["true"] / row["n"] for row in bins], 1e-4, 0.99)
        assert above.get_title(loc="left") == name
        np.testing.assert_array_equal(above.lines[1].get_data(), [x, share])
        for (bottom, top), row in zip(above.collections[0].get_segments(), bins, strict=True):
            interval = np.array(row["true_interval"]) / row["n"]
            np.testing.assert_allclose([bottom[1], top[1]], np.clip(interval, 1e-4, 0.99))
        for line, key in zip(below.lines, ("n", "true"), strict=True):
            assert line.get_ydata().tolist() == [row[key] for row in bins]
    texts = ["95 % interval", "Candidates", "True sites"]
    assert legend_texts(figure.legends[0]) == texts
