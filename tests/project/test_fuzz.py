"""A few of the tries of ``python tests/fuzz.py``, which runs for as long as one wants."""

import gzip
import random
from collections import Counter

from tests import fuzz, fuzz_runs

#: Cases that are over in a few hundredths of a second.
QUICK = [
    case for case in fuzz.CASES if case.command.split()[0] in ("predict", "similarity", "info")
]


def test_damaged_input_is_refused_or_accepted(tmp_path):
    tries = fuzz.Tries(tmp_path / "tries", QUICK)
    for number in range(300):
        tries.one(number)
    counts = sum(tries.counts.values(), Counter())
    assert not tries.examples, tries.report()
    assert counts["clear error"] > counts["accepted"] > 20
    assert counts.total() == 300


def test_killed_runs_end_as_if_nothing_had_happened(tmp_path):
    names = ("train", "scan, bedgraph", "dataset")
    counts = sum(fuzz_runs.kills(tmp_path / "kills", 5, names).values(), Counter())
    assert counts["same bytes"] > 0
    assert not {"other bytes", "half-written files", "cannot go on"} & set(counts)


def test_two_runs_on_one_output(tmp_path):
    (count,) = fuzz_runs.races(tmp_path / "races", 1, ["bed"]).values()
    assert count["one refused"] + count["one after the other"] == 1


def test_damage_changes_every_kind_of_file(tmp_path):
    data = gzip.compress(b"".join(b"%d\tx,%d\n" % (i, i * i) for i in range(50)), mtime=0)
    case = fuzz.Case("table", "a.tsv.gz", "")
    changed = {fuzz.damaged(case, data, random.Random(i)) for i in range(60)}
    assert len(changed - {data}) > 50
    assert {fuzz.damaged(case, data, random.Random(7)) for _ in range(3)} <= changed
