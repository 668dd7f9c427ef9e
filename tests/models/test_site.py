"""The consensus that a model finds in its windows."""

import numpy as np

from seqmtl.models.site import Site, find_site
from seqmtl.sequences import Windows


def _windows(n: int, share: float) -> Windows:
    codes = np.random.default_rng(0).integers(0, 4, (n, 30)).astype(np.uint8)
    with_site = np.arange(n) < share * n
    codes[with_site, 20], codes[with_site, 21] = 0, 2
    return Windows(codes.ravel(), np.arange(n) * 30, 30)


def test_a_site_away_from_the_middle_survives_a_few_exceptions():
    assert find_site(_windows(10_000, 0.97)) == Site(20, 2, "AG")


def test_windows_at_the_end_of_the_data_count_as_well():
    assert find_site(_windows(30_000, 0.7)) == Site(15, 1, "")


def test_a_handful_of_windows_tells_nothing():
    assert find_site(_windows(10, 1.0)) == Site(15, 1, "")
