"""A scheduler and workers in processes of their own, as on a cluster."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

ROLES = {"scheduler": ["--port", "0", "--host", "127.0.0.1"], "worker": ["--nthreads", "1"]}


class Processes:
    """Processes of dask that share a scheduler file."""

    def __init__(self, folder):
        self.folder, self.address = folder, str(folder / "scheduler.json")
        self.started = []

    def start(self, role, **settings):
        """Start a scheduler or a worker."""
        command = [sys.executable, "-m", f"distributed.cli.dask_{role}", "--no-dashboard"]
        command += ["--scheduler-file", self.address, *ROLES[role]]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, cwd=self.folder, **quiet, **settings)
        self.started.append(process)
        while not (self.folder / "scheduler.json").exists():
            assert process.poll() is None
            time.sleep(0.05)
        return process

    def stop(self):
        for process in self.started:
            process.kill()
            process.wait()


@pytest.fixture
def processes(tmp_path):
    """No process yet; those that a test starts end with it."""
    found = Processes(tmp_path)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """Return the file of a scheduler with two workers."""
    found = Processes(tmp_path_factory.mktemp("dask"))
    for role in ("scheduler", "worker", "worker"):
        found.start(role)
    yield found.address
    found.stop()
