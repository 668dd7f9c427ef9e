"""The scripts of the papers as modules."""

import importlib
import sys
from pathlib import Path

import pytest

PAPER = Path(__file__).resolve().parents[2] / "examples" / "paper"


@pytest.fixture(scope="session")
def paper_script():
    """Import a script of examples/paper by its name."""
    sys.path.insert(0, str(PAPER))
    yield importlib.import_module
    sys.path.remove(str(PAPER))
