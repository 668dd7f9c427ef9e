"""Where bins begin in windows whose letters do not say it."""

import numpy as np

from seqmtl.models.site import Site, find_anchor, find_site
from seqmtl.sequences import Windows


def _windows(n=200, length=60, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (n, length)).astype(np.uint8)
    y = np.where(np.arange(n) % 2, 1, -1)
    return codes, y


def _pack(codes, y):
    n, length = codes.shape
    return Windows(codes.reshape(-1), np.arange(n) * length, length, labels=y)


def test_bins_begin_where_the_letters_of_true_windows_differ():
    codes, y = _windows()
    codes[(y > 0), 41:44] = [3, 0, 3]  # TAT in every true window
    windows = _pack(codes, y)
    site = find_site(windows)
    assert site.letters == ""
    assert 41 <= find_anchor(windows, y, site) <= 43


def test_bins_begin_in_the_middle_where_nothing_differs():
    for seed in range(5):
        codes, y = _windows(seed=seed)
        windows = _pack(codes, y)
        assert find_anchor(windows, y, find_site(windows)) == 30


def test_a_known_site_is_kept():
    codes, y = _windows()
    codes[(y > 0), 41:44] = [3, 0, 3]
    windows = _pack(codes, y)
    assert find_anchor(windows, y, Site(30, 1, "", "tss")) == 30
    assert find_anchor(windows, y, Site(12, 1, "")) == 12
    codes[:, 20:22] = [0, 2]
    windows = _pack(codes, y)
    assert find_anchor(windows, y, find_site(windows)) == 20


def test_windows_of_one_class_have_no_differences():
    codes, y = _windows()
    windows = _pack(codes, np.ones_like(y))
    assert find_anchor(windows, np.ones_like(y), find_site(windows)) == 30
