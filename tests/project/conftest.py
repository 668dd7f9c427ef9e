"""The scripts of the papers, and the extensions of the site, as modules."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT / "examples" / "paper"
sys.path.insert(0, str(ROOT / "docs" / "_ext"))  # what the site generates is tested


@pytest.fixture(scope="session")
def paper_script():
    """Import a script of examples/paper by its name."""
    sys.path.insert(0, str(PAPER))
    yield importlib.import_module
    sys.path.remove(str(PAPER))
