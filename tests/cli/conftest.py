"""Commands as a user types them."""

import shlex

import pytest

from seqmtl.cli.main import main


@pytest.fixture
def seqmtl(capsys):
    """Return a function that runs a command in this process, and returns what it has written."""

    def run(command, code=0):
        capsys.readouterr()
        try:
            found = main(shlex.split(command))
        except SystemExit as stop:
            found = stop.code
        written = capsys.readouterr()
        assert found == code, f"{command}: {written.err}"
        return written

    return run
