"""The consensus that a model finds in its windows."""

import numpy as np
import pytest

from seqmtl.exceptions import SeqmtlError
from seqmtl.models.site import Site, find_site, site_of_model
from seqmtl.sequences import Windows, encode


def _windows(n: int, share: float) -> Windows:
    codes = np.random.default_rng(0).integers(0, 4, (n, 30)).astype(np.uint8)
    with_site = np.arange(n) < share * n
    codes[with_site, 20], codes[with_site, 21] = 0, 2
    return Windows(codes.ravel(), np.arange(n) * 30, 30)


def test_a_site_away_from_the_middle_survives_a_few_exceptions():
    assert find_site(_windows(10_000, 0.97)) == Site(20, 2, "AG")


def test_windows_at_the_end_of_the_data_count_as_well():
    assert find_site(_windows(30_000, 0.7)) == Site(15, 1, "")


@pytest.mark.parametrize(("letters", "here"), [("AG", "AG"), ("GT,GC", "GT"), ("TAA,TGA", "TGA")])
def test_the_letters_at_the_site_on_both_strands(letters, here):
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(list("ACGTN"), 9)) for _ in range(400)]
    texts += [f"{t[:3]}{here}{t[3 + len(here) :]}" for t in texts[:20]]
    words = letters.split(",")
    expected = [t[3 : 3 + len(words[0])] in words for t in texts]
    number = [words.index(w) if (w := t[3 : 3 + len(words[0])]) in words else -1 for t in texts]
    site = Site(3, len(words[0]), letters)
    assert 20 < sum(expected) < 200
    assert site.is_in(Windows.from_strings(texts)).tolist() == expected
    assert site.word_of(Windows.from_strings(texts)).tolist() == number
    turned = [t.translate(str.maketrans("ACGT", "TGCA"))[::-1] for t in texts]
    backward = Windows(encode("".join(turned)), 9 * np.arange(420), 9, is_reverse=[True] * 420)
    assert site.is_in(backward).tolist() == expected
    assert site.word_of(backward).tolist() == number
    assert Site(3, 1, "").is_in(backward).all()


def test_a_handful_of_windows_tells_nothing():
    assert find_site(_windows(10, 1.0)) == Site(15, 1, "")


@pytest.mark.parametrize(
    ("model", "is_refused"),
    [
        (Site(8, 2, "AG"), False),
        (Site(8, 2, "GT"), True),
        (Site(7, 2, "AG"), True),
        (Site(8, 1, ""), False),
        (Site(8, 2, "AG,AC"), False),
    ],
)
def test_letters_tell_the_signal_of_a_model_that_does_not_know_it(model, is_refused, monkeypatch):
    theirs = Site(8, 2, "AG", "acceptor")
    monkeypatch.setattr("seqmtl.models.site.site_in_dataset", lambda *_: theirs)
    if not is_refused:
        assert site_of_model(model, "folder", 20, 0) == theirs
        return
    with pytest.raises(
        SeqmtlError, match=r"trained on have .* of 20, but the sites of folder have"
    ):
        site_of_model(model, "folder", 20, 0)
