"""A few of the tries of ``python tests/fuzz.py``."""

import gzip
import random
from collections import Counter

from tests import fuzz

#: Cases that are over in a few hundredths of a second.
QUICK = [
    case for case in fuzz.CASES if case.command.split()[0] in ("predict", "similarity", "info")
]


def test_damaged_input_is_refused_or_accepted(tmp_path):
    tries = fuzz.Tries(tmp_path, QUICK)
    for number in range(100):
        tries.one(number)
    counts = sum(tries.counts.values(), Counter())
    assert not tries.problems, "\n".join(tries.problems)
    assert counts["clear error"] > counts["accepted"] > 10


def test_damage_changes_every_kind_of_file():
    data = gzip.compress(b"".join(b"%d\tx,%d\n" % (i, i * i) for i in range(50)), mtime=0)
    case = fuzz.Case("table", "a.tsv.gz", "")
    changed = {fuzz.damaged(case, data, random.Random(i)) for i in range(60)}
    assert len(changed - {data}) > 50
    assert {fuzz.damaged(case, data, random.Random(7)) for _ in range(3)} <= changed
