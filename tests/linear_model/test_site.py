"""The consensus that a model finds in its windows."""

import numpy as np
import pytest

from seqmtl.exceptions import SeqmtlError
from seqmtl.linear_model.dataset_site import site_of_model
from seqmtl.linear_model.site import Site
from seqmtl.sequences import Windows, encode
from tests.linear_model.cases import write_dataset_head
from tests.oracles.annotation import reverse_complement


@pytest.mark.parametrize(("letters", "here"), [("AG", "AG"), ("GT,GC", "GT"), ("TAA,TGA", "TGA")])
@pytest.mark.parametrize("n_at_a_time", [1, 1000, 10**6])
def test_the_letters_at_the_site_on_both_strands(letters, here, n_at_a_time, monkeypatch):
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(list("ACGTN"), 9)) for _ in range(400)]
    texts += [f"{t[:3]}{here}{t[3 + len(here) :]}" for t in texts[:20]]
    words = letters.split(",")
    expected = [t[3 : 3 + len(words[0])] in words for t in texts]
    number = [words.index(w) if (w := t[3 : 3 + len(words[0])]) in words else -1 for t in texts]
    site = Site(3, len(words[0]), letters)
    assert 20 < sum(expected) < 200
    assert site.is_in(Windows.from_strings(texts)).tolist() == expected
    assert site.consensus_of(Windows.from_strings(texts)).tolist() == number
    turned = [reverse_complement(t) for t in texts]
    backward = Windows(encode("".join(turned)), 9 * np.arange(420), 9, is_reverse=[True] * 420)
    assert site.is_in(backward).tolist() == expected
    assert site.consensus_of(backward).tolist() == number
    monkeypatch.setattr("seqmtl.linear_model.site._BASES", n_at_a_time)
    bases = range(9 - len(words[0]) + 1)
    shares = [np.mean([t[k : k + len(words[0])] in words for t in texts]) for k in bases]
    for windows in (Windows.from_strings(texts), backward):
        assert site.shares_by_base(windows).tolist() == pytest.approx(shares)
    assert Site(3, 1, "").is_in(backward).all()


def test_a_dataset_has_the_signal_of_a_model_which_keeps_its_own_place(tmp_path):
    folder = write_dataset_head(tmp_path, Site(14, 2, "AG", "acceptor"), {"x": {}})
    for model, offset in (
        (Site(9, 2, "AG"), 9),
        (Site(3, 2, "AG"), 3),
        (Site(17, 2, "AG", "acceptor"), 17),
        (Site(9, 2, "AG,AC"), 9),
        (Site(10, 1, ""), 9),  # it is unknown: cut from the centre
    ):
        assert site_of_model(model, folder, 20, 0) == Site(offset, 2, "AG", "acceptor")
    for model, ours in ((Site(9, 2, "GT"), "GT"), (Site(9, 2, "AG", "donor"), "donor")):
        with pytest.raises(
            SeqmtlError, match=rf"the model has {ours} sites at .*, the dataset acceptor sites"
        ):
            site_of_model(model, folder, 20, 0)


def test_windows_without_the_site_are_told_with_the_place_where_they_have_it(caplog):
    rng = np.random.default_rng(2)
    texts = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(100)]
    texts = [f"{text[:20]}AG{text[22:]}" for text in texts]
    turned = [reverse_complement(text) for text in texts]
    y = [1] * 50 + [-1] * 50
    for site, letters, where in (
        (Site(19, 2, "AG"), texts, r"they have AG at base 20\)"),
        (Site(20, 2, "AG,AC"), turned, r"their other strand has AG,AC at base 20\)"),
    ):
        windows = Windows.from_strings(letters, y)
        with pytest.raises(ValueError, match=rf"{site.letters} at base .* of 50 true .*{where}"):
            site.check_consensus(windows, windows.labels)
        caplog.clear()
        site.warn_missing_consensus(windows)
        lacking = sum(text[site.offset :][:2] not in site.consensus for text in letters)
        assert f"{lacking} of 100 windows lack the letters of the model's sites" in caplog.text
    caplog.clear()
    other, none = Windows.from_strings(texts, y), Site(20, 2, "GT")
    none.check_consensus(other, other.labels)  # they have it nowhere: they are told, not refused
    none.warn_missing_consensus(other)
    assert "100 of 100 windows lack" in caplog.text
    some = Windows.from_strings([*texts, "C" * 30])
    caplog.clear()
    Site(20, 2, "AG").warn_missing_consensus(some)
    assert "1 of 101 windows lack" in caplog.text
    assert "they have" not in caplog.text
    caplog.clear()
    right = Windows.from_strings(texts, y)
    for site in (Site(20, 2, "AG"), Site(3, 1, "")):
        site.check_consensus(right, right.labels)
        site.warn_missing_consensus(right)
    assert not caplog.text
