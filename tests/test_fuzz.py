"""A few of the tries of ``python tests/fuzz.py``."""

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
