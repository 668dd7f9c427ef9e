"""Log ratios of start codons by the letters around them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl.sequences import encode, reverse_complement
from seqmtl.splicing.start_codons import LOG_RATIOS, PLACES, score_starts
from tests.oracles.pairs import start_log_odds


def test_letters_of_a_strong_and_of_a_weak_start():
    for text, expected in (
        ("GCCACCATGGCG", 0.31 + 0.26 + 0.56 + 0.38 + 0.63 + 0.09 + 0.43 + 0.64 + 0.26),
        ("TTTTTTATGTTT", -0.10 + 0.01 - 0.16 - 0.82 - 0.30 - 0.34 - 0.20 + 0.11 + 0.26),
        ("CATGN", 0.09),  # others are beyond the ends, or unknown
        ("CCACNCATGNCG", 0.09),  # or beyond an unknown one
    ):
        codes, at = encode(text), np.array([text.index("ATG")])
        assert score_starts(codes, at, np.array([False])) == pytest.approx(expected)
        minus = len(text) - 3 - at
        found = score_starts(reverse_complement(codes), minus, np.array([True]))
        assert found == pytest.approx(expected)


def test_starts_of_both_strands_equal_a_sum_over_letters():
    rng = np.random.default_rng(0)
    codes = rng.choice(5, 300, p=[0.24] * 4 + [0.04]).astype(np.uint8)
    starts, is_reverse = rng.integers(0, 298, 200), rng.random(200) < 0.5
    texts = [
        "".join("ACGTN"[code] for code in strand) for strand in (codes, reverse_complement(codes))
    ]
    expected = [
        start_log_odds(texts[reverse], 297 - at if reverse else at)
        for at, reverse in zip(starts.tolist(), is_reverse.tolist(), strict=True)
    ]
    assert_allclose(score_starts(codes, starts, is_reverse), expected, atol=1e-12)
    assert score_starts(codes, starts[:0], is_reverse[:0]).shape == (0,)


def test_a_purine_before_a_start_is_more_frequent_and_composition_counts_nothing():
    ratios = dict(zip(PLACES, LOG_RATIOS, strict=True))
    assert min(ratios[-3][[0, 2]]) > 0 > max(ratios[-3][[1, 3]])
    assert ratios[3].argmax() == 2
    assert LOG_RATIOS.shape == (len(PLACES), 4)
    assert_allclose(
        LOG_RATIOS[:, [0, 3]].sum(axis=1), LOG_RATIOS[:, [1, 2]].sum(axis=1), atol=0.025
    )
