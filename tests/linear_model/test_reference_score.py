"""Scores and probabilities that a reader of the format computes from the bytes of a model file."""

import math

import numpy as np
import pytest

from tests import mutations
from tests.oracles import wd


def read_model(path):
    """The description, and the arrays as lists; of the weights, those of every row that has one."""
    description, arrays = mutations.read(path.read_bytes())
    arrays = {name: array.tolist() for name, array in arrays.items()}
    rows = arrays.get("rows", range(len(arrays["W"])))
    return description, arrays | {"W": dict(zip(rows, arrays["W"], strict=True))}


def score(window, task, description, arrays):
    """Score of a window by a weighted degree of 3, with exact or hashed indices."""
    L, bits = description["length"], description["features"]["hash_bits"]
    omega = {k: 2 * (3 - k + 1) / (3 * 4) for k in (1, 2, 3)}
    norm = sum(omega[k] * (L - k + 1) for k in omega)
    total, offset, zero = arrays["bias"][task], 0, [0.0] * len(description["tasks"])
    for k in (1, 2, 3):
        for l in range(L - k + 1):
            letters = ["ACGT".find(letter) for letter in window[l : l + k]]
            if min(letters) >= 0:
                code = sum(4 ** (k - 1 - i) * letter for i, letter in enumerate(letters))
                of_code = offset + l * 4**k + code
                i = wd.hash_index(l, k, window[l : l + k], bits) if bits else of_code
                total += math.sqrt(omega[k] / norm) * arrays["W"].get(i, zero)[task]
        offset += L * 4**k
    return total


@pytest.mark.parametrize("hash_bits", [0, 10])
def test_scores_follow_from_the_file(hash_bits, write, tmp_path, seqmtl):
    rng = np.random.default_rng(3)
    rows = ["organism\tlabel\tsequence"]
    for i in range(160):
        letters = rng.choice(list("ACGTN"), 17, p=[0.24, 0.24, 0.24, 0.24, 0.04])
        letters[8:10] = list("AG")
        if i % 3 == 0:
            letters[5:8] = list("CCT")
        rows.append(f"{('ape', 'fly')[i % 2]}\t{1 if i % 3 == 0 else -1}\t{''.join(letters)}")
    data = write("\n".join(rows) + "\n", "w.tsv")
    path, out = tmp_path / "m.seqmtl", tmp_path / "s.tsv"
    features = "wd:3" + f",hash:{hash_bits}" * bool(hash_bits)
    seqmtl(f"train {data} --features {features} --selection none -q -o {path}")
    seqmtl(f"predict {path} {data} -q -o {out}")
    description, arrays = read_model(path)
    assert description["features"]["hash_bits"] == hash_bits
    found = [line.split("\t") for line in out.read_text().splitlines()[1:]]
    assert len(found) == 160
    for row, line in zip(found, rows[1:], strict=True):
        organism, _, window = line.split("\t")
        task = description["tasks"].index(organism)
        expected = score(window, task, description, arrays)
        a, b = arrays["calibration"][task]
        assert float(row[2]) == pytest.approx(expected, abs=2e-5)
        assert float(row[3]) == pytest.approx(1 / (1 + math.exp(-(a * expected + b))), abs=1e-4)
