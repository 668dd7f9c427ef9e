"""The site that is found in windows."""

import numpy as np

from seqmtl.linear_model.site import Site
from seqmtl.sequences import Windows
from seqmtl.training.site_detection import find_anchor, find_misplaced, find_site


def _pack(codes: np.ndarray, y: object = None) -> Windows:
    n, length = codes.shape
    return Windows(codes.reshape(-1), np.arange(n) * length, length, labels=y)


def test_the_consensus_survives_a_few_exceptions():
    for n, share, expected in (
        (10_000, 0.97, Site(20, 2, "AG")),
        (30_000, 0.7, Site(15, 1, "")),  # windows at the end of the data count as well
        (10, 1.0, Site(15, 1, "")),  # a handful of windows tells nothing
    ):
        codes = np.random.default_rng(0).integers(0, 4, (n, 30)).astype(np.uint8)
        codes[np.arange(n) < share * n, 20:22] = [0, 2]
        assert find_site(_pack(codes)) == expected


def test_bins_begin_where_the_letters_of_true_windows_differ():
    y = np.where(np.arange(200) % 2, 1, -1)
    for seed in range(5):  # or in the middle, where nothing differs
        codes = np.random.default_rng(seed).integers(0, 4, (200, 60)).astype(np.uint8)
        windows = _pack(codes, y)
        assert find_anchor(windows, y, find_site(windows)) == 30
    codes[(y > 0), 41:44] = [3, 0, 3]  # TAT in every true window
    windows = _pack(codes, y)
    site = find_site(windows)
    assert site.letters == ""
    assert 41 <= find_anchor(windows, y, site) <= 43
    assert find_anchor(windows, np.ones_like(y), site) == 30  # one class has no differences
    assert find_anchor(windows, y, Site(30, 1, "", "tss")) == 30  # a known site is kept
    assert find_anchor(windows, y, Site(12, 1, "")) == 12
    codes[:, 20:22] = [0, 2]
    windows = _pack(codes, y)
    assert find_anchor(windows, y, find_site(windows)) == 20


def test_groups_of_windows_with_the_site_elsewhere_are_named():
    rng = np.random.default_rng(3)
    texts = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(400)]
    names = ["ape"] * 200 + ["fly"] * 200
    y = [1, -1] * 200
    for moved, expected in ((0, []), (1, ["fly (test)"])):
        for i, text in enumerate(texts):
            at = 20 + moved * (i >= 300)
            texts[i] = f"{text[:at]}AG{text[at + 2 :]}"
        windows = Windows.from_strings(texts, y, names)
        windows.splits, windows.split_names = np.repeat([0, 1, 0, 1], 100), ("train", "test")
        faults = find_misplaced(windows)
        assert [fault.split(" are elsewhere")[0] for fault in faults] == [
            f"the sites of {name}" for name in expected
        ]
        assert all("0 of 50 true sites (they have AG at base 21)" in fault for fault in faults)
    assert find_misplaced(windows[:100][np.arange(1, 100, 2)]) == []  # no true site
