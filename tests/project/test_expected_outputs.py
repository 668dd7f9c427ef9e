"""What users get on a small simulated case is what it was.

Where a change is meant, ``python tests/expected/make.py`` writes the expected files anew; read the
difference of the files before it is committed.
"""

from __future__ import annotations

import pytest

from tests.expected import make


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    with make.working_folder(tmp_path_factory.mktemp("case")):
        yield


@pytest.mark.parametrize("step", make.STEPS)
@pytest.mark.usefixtures("case")
def test_outputs_are_as_expected(step):
    expected, found = make.expected(step), make.STEPS[step]()
    assert set(found) == set(expected)
    changed = {name: make.differences(name, expected[name], found[name]) for name in found}
    report = [f"{name}:\n" + "\n".join(lines[:20]) for name, lines in changed.items() if lines]
    assert not report, "\n".join(report)
