"""The track of a chromosome: candidates by truth and threshold."""

from dataclasses import replace

import numpy as np
import pytest

from seqmtl.report.track import Track, draw_track, richest_stretch


def make_track(n=500, seed=0):
    rng = np.random.default_rng(seed)
    is_site = np.zeros(n, dtype=bool)
    is_site[::50] = True
    return Track(
        organism="plain",
        contig="chr<3>",
        start=0,
        end=50_000,
        regions=np.array([[0, 50_000]]),
        positions=np.sort(rng.choice(50_000, n, replace=False)),
        is_reverse=rng.random(n) < 0.5,
        scores=rng.normal(-1, 1, n),
        is_site=is_site,
    )


def test_track_sorts_candidates_by_truth_and_threshold():
    track = make_track()
    axes = draw_track(track, 0.5).axes[0]
    labels, counts = [], []
    drawn = 0
    for points in axes.collections:
        if points.get_label().startswith("_"):
            drawn += len(points.get_offsets())
        else:
            labels.append(points.get_label())
            counts.append(drawn)
            drawn = 0
    found = sum(score >= 0.5 for score in track.scores[::50])
    called = sum(score >= 0.5 for score in track.scores)
    assert labels == [
        "other candidate", "other candidate, called", "true site, called", "true site, missed",
    ]  # fmt: skip
    assert counts == [490 - (called - found), called - found, found, 10 - found]
    assert track.counts(0.5) == (called, found)
    assert track.counts(99.0) == (0, 0)


def test_track_of_very_many_candidates_keeps_the_highest():
    rng = np.random.default_rng(0)
    track = replace(
        make_track(),
        positions=np.arange(30_000),
        is_reverse=np.zeros(30_000, dtype=bool),
        scores=rng.normal(-9, 1, 30_000),
        is_site=np.zeros(30_000, dtype=bool),
    )
    points = draw_track(track, 0.5).axes[0].collections[0].get_offsets()
    assert 3000 <= len(points) <= 4000
    assert points[:, 1].max() == track.scores.max()


def test_what_is_in_no_test_region_is_grey():
    track = replace(make_track(), regions=np.array([[10_000, 20_000], [30_000, 50_000]]))
    axes = draw_track(track, 0.5).axes[0]
    grey = [patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches
            if np.allclose(patch.get_facecolor()[:3], 0xEE / 0xFF)]  # fmt: skip
    assert [(box.x0, box.x1) for box in grey] == [
        pytest.approx((0, 10)), pytest.approx((20, 30)),
    ]  # fmt: skip


def test_richest_stretch():
    sites = np.array([100, 5000, 5010, 5020, 9000])
    start, end = richest_stretch(sites, 16_000, 1000)
    assert end - start == 1000
    assert start <= 5000
    assert end > 5020
    assert richest_stretch(np.array([], dtype=int), 16_000, 1000) == (0, 1000)
    assert richest_stretch(np.array([15_999]), 16_000, 1000) == (15_000, 16_000)
