"""Fixtures that tests of several subpackages share."""

from __future__ import annotations

import logging
import os
import resource
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from seqmtl._messages import forget_logged
from tests.invocation import exit_code
from tests.world import World

# The same examples in every run, however long a busy machine takes to draw and to try them.
# Fixtures that examples share are folders that are written anew, and patched constants.
unchecked = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "seqmtl", deadline=None, derandomize=True, suppress_health_check=unchecked
)
settings.load_profile("seqmtl")

# Child processes run the code that is tested, not a copy that is installed, whose compiled loops
# would be compiled a second time.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: once compressed, they hold the second they were made in."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real data sets, which are no part of the project; the test is skipped without it.

    It is named by the environment variable SEQMTL_SHARED_DATA; the default is ``shared/data``
    beside the project.
    """
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SEQMTL_SHARED_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}")
    return folder


@pytest.fixture(scope="session")
def world(tmp_path_factory) -> World:
    """Simulated genomes, and datasets and models of them: see :mod:`tests.world`."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of all workers
    (folder / "world").mkdir(exist_ok=True)
    return World(folder / "world")


@pytest.fixture(autouse=True)
def _log_from_the_start() -> None:
    """Undo what a command has done to the package's log, so that no test hears another's."""
    forget_logged()
    log = logging.getLogger("seqmtl")
    log.handlers.clear()
    log.propagate = True
    log.setLevel(logging.NOTSET)


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a small file and returns its path."""

    def write_file(content: str | bytes, name: str = "data.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture
def file_size():
    """Return a function that limits the size of files, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda n_bytes: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def seqmtl(capsys):
    """Return a function that runs a command in this process, and returns what it has written."""

    def run(command, code=0):
        words = shlex.split(command) if isinstance(command, str) else [*map(str, command)]
        capsys.readouterr()
        found = exit_code(words)
        written = capsys.readouterr()
        assert found == code, f"{command}: {written.err}"
        return written

    return run
