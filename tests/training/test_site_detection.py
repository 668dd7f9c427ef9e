"""The site that is found in windows."""

import numpy as np
import pytest

from seqmtl.exceptions import SeqmtlError
from seqmtl.linear_model.site import Site
from seqmtl.sequences import Windows
from seqmtl.training.site_detection import (
    adapter_warnings,
    check_no_site,
    find_anchor,
    find_misplaced,
    find_site,
    locate,
)


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


FIRST, LAST = "ACTGGCCGCTTCACT", "GGTTCGATCGCTAGC"  # of 15 bases, as in MPRA


@pytest.mark.parametrize(
    ("parts", "site", "warning"),
    [
        # letters of all windows by their first base, and the site; 120 bases, 60 of each class
        ({0: FIRST, 105: LAST}, None, "the first 15 and the last 15 of 120 bases"),
        ({0: "GAATTC", 114: "GAATTC"}, None, "the first 6 and the last 6 of 120"),
        ({0: FIRST, 27: LAST}, None, "the first 15 and 15 from base 27 (0-based) of 120"),
        ({95: "A" * 25}, None, "the last 25 of 120"),
        ({0: FIRST, 105: LAST, 50: "AG"}, Site(50, 2, "AG"), "the first 15 and the last 15"),
        ({0: FIRST, 60: "ATG"}, Site(60, 3, "ATG"), "the first 15 of"),
        ({0: "ATG"}, Site(0, 3, "ATG"), None),
        ({40: "GTAAG"}, Site(43, 2, "AG"), None),  # nearest to the middle, as before
        ({57: "AATAAA"}, Site(59, 2, "TA"), None),
        ({118: "AG"}, Site(118, 2, "AG"), None),
    ],
)
def test_long_runs_of_shared_letters_are_no_site(parts, site, warning):
    codes = np.random.default_rng(2).integers(0, 4, (120, 120)).astype(np.uint8)
    y = np.where(np.arange(120) % 2, 1, -1)
    for first, letters in parts.items():
        codes[:, first : first + len(letters)] = ["ACGT".index(letter) for letter in letters]
    windows = _pack(codes, y)
    assert find_site(windows) == (site or Site(60, 1, ""))
    faults = adapter_warnings(windows, y)
    assert len(faults) == (warning is not None)
    assert not warning or f"all windows have the same letters at {warning}" in faults[0]
    if site is None:
        with pytest.raises(SeqmtlError, match="site of the windows of 120 bases is unknown"):
            locate(windows, y)


def test_adapters_of_one_class_are_told():
    codes = np.random.default_rng(2).integers(0, 4, (80, 50)).astype(np.uint8)
    y = np.where(np.arange(80) % 2, 1, -1)
    codes[y < 0, :12] = 3
    (fault,) = adapter_warnings(_pack(codes, y), y)
    assert fault.startswith("all negatives have the same letters at the first 12 of 50 bases")


@pytest.mark.parametrize("letters", ["AG", FIRST])
def test_the_site_of_sequences_of_different_lengths(letters):
    rng = np.random.default_rng(3)
    texts = ["".join(rng.choice(list("ACGT"), n)) for n in rng.integers(60, 90, 60)]
    texts = [letters + text for text in texts]
    texts[7] += "ACGT" * 100_000  # one is far longer; one base at a time takes minutes
    windows = Windows.from_strings(texts, [1, -1] * 30, pad=True)
    if letters == FIRST:
        check_no_site(windows)
    else:
        with pytest.raises(SeqmtlError, match="but have a site at base 0"):
            check_no_site(windows)


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
