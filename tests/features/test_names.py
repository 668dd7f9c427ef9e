"""Names of features say what is counted: compared with the letters of windows."""

import re

import numpy as np
import pytest

from seqmtl import JointFeatures, KmerCounts, MultiTaskSVC, PositionalKmers, Windows
from seqmtl.exceptions import SeqmtlError
from seqmtl.features.numeric import Numeric
from tests.oracles.annotation import reverse_complement


def _windows(n=6, length=23):
    rng = np.random.default_rng(3)
    return ["".join(rng.choice(list("ACGT"), length)) for _ in range(n)]


def _matches(sequence, pattern, first, last):
    return any(re.match(pattern, sequence[p:]) for p in range(max(first, 0), last))


@pytest.mark.parametrize(
    "features",
    [
        PositionalKmers("wd:3"),
        PositionalKmers("kmers:2-3/4@-6..8", anchor=9),
        PositionalKmers("kmers:2/inf,wd:2@-2..2"),
        PositionalKmers("wd:2"),
        PositionalKmers("kmers:3/inf", anchor=0),
    ],
)
def test_positional_names(features):
    sequences = _windows()
    length, X = len(sequences[0]), features.transform(sequences)
    names = features.feature_names(length)
    anchor = features.resolved_anchor(length)
    assert names.shape == (X.shape[1],)
    for row, sequence in zip(X, sequences, strict=True):
        for column in row.indices:
            kmer, _, place = names[column].partition("@")
            first, _, last = place.partition("..")
            first = int(first) + anchor
            last = int(last) + anchor if last else first + 1
            assert _matches(sequence, kmer, first, last)
    if "wd" in str(features) and "," not in str(features):
        n_used = sum(len(sequences[0]) - k + 1 for k in (1, 2, 3) if k <= features.span(length))
        assert np.diff(X.indptr).tolist() == [n_used] * len(sequences)


@pytest.mark.parametrize(
    "views", ["spectrum:1-3", "spectrum:2-3:stranded", "gapped:5/3", "gapped:6/2:stranded"]
)
def test_names_of_kmers_anywhere(views):
    features, sequences = KmerCounts(views), _windows()
    X, names = features.transform(sequences), features.feature_names()
    assert names.shape == (X.shape[1],)
    for row, sequence in zip(X, sequences, strict=True):
        strands = [sequence]
        if "stranded" not in views:
            strands.append(reverse_complement(sequence))
        for column in row.indices:
            assert any(re.search(names[column], strand) for strand in strands)
    of_letters = {name for name, count in zip(names, X.sum(axis=0).A1, strict=True) if count}
    if views == "spectrum:2-3:stranded":
        assert of_letters == {
            s[p : p + k] for s in sequences for k in (2, 3) for p in range(24 - k)
        }


def test_joint_numeric_and_hashed():
    joint = JointFeatures([PositionalKmers("wd:1"), PositionalKmers("kmers:1/inf", anchor=0)])
    assert joint.feature_names(2)[[0, 8]].tolist() == ["0:A@-1", "1:A@0..2"]
    assert Numeric().feature_names(2).tolist() == ["x0", "x1"]
    with pytest.raises(SeqmtlError, match="hashed"):
        PositionalKmers("wd:3,hash:6").feature_names(20)


def test_estimators_name_the_columns_of_coef():
    pandas = pytest.importorskip("pandas")
    X, y = Windows.from_strings(_windows(8, 9)), [1, -1] * 4
    model = MultiTaskSVC(features="wd:2").fit(X, y)
    names = model.get_feature_names_out()
    assert names.shape == (model.coef_.shape[1],)
    assert names[0] == "A@-4"
    frame = pandas.DataFrame({"height": [0.0, 1.0], "width": [1.0, 0.0]})
    assert MultiTaskSVC().fit(frame, [-1, 1]).get_feature_names_out().tolist() == [
        "height",
        "width",
    ]
    assert MultiTaskSVC().fit(frame.to_numpy(), [-1, 1]).get_feature_names_out()[1] == "x1"
    with pytest.raises(AttributeError, match="after fit"):
        MultiTaskSVC().get_feature_names_out()
