"""Jobs on workers that die, come late, or are not what they should be."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import psutil
import pytest
from distributed import Client
from distributed.security import Security

from seqmtl import __version__, cluster
from seqmtl.cluster import Workers, check_address, connect
from seqmtl.exceptions import InputFormatError, SeqmtlError


@pytest.fixture(scope="module")
def workers():
    with connect("local:2") as found:
        yield found


def wait_for(path):
    while not path.exists():
        time.sleep(0.02)


def jobs(n, *more):
    return [(i, *more) for i in range(n)]


def square(x):
    return x * x


def scaled(factor, x):
    return factor["by"] * x


def late_first(folder, x):
    """Job 0 waits for a file that another makes."""
    if x == 0:
        wait_for(folder / "go")
    else:
        (folder / "go").touch()
    return x


def late(x):
    raise TimeoutError("too late")


def fail(x):
    raise InputFormatError("is broken", path="a.fa", line=x)


def die_once(folder, x):
    """Kill the own process at the first time of one job."""
    if x == 2 and not (folder / "dead").exists():
        (folder / "dead").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def die(x):
    os.kill(os.getpid(), signal.SIGKILL)


def settings_of_threads(x):
    return [os.environ.get(f"{name}_NUM_THREADS") for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")]


def mark_and_stay(folder, x):
    """Make a file and never end."""
    (folder / f"{x}").touch()
    wait_for(folder / "never")


def refuses(address, certificate):
    """Tell whether a server ends a TLS connection of a client that trusts everybody."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate)
    with socket.create_connection((host, int(port)), timeout=20) as plain:
        try:
            with context.wrap_socket(plain) as encrypted:
                return encrypted.recv(1) == b""
        except (ssl.SSLError, ConnectionError):
            return True


def test_others_cannot_connect_to_local_workers(workers, tmp_path):
    foreign = Security.temporary()
    (tmp_path / "foreign.pem").write_text(foreign.tls_client_key + foreign.tls_client_cert)
    addresses = [workers.client.scheduler.address, *workers.client.scheduler_info()["workers"]]
    for address in addresses:
        assert address.startswith("tls://127.0.0.1:")
        for certificate in (None, tmp_path / "foreign.pem"):
            assert refuses(address, certificate)
    for address, security in ((addresses[0].replace("tls", "tcp"), None), (addresses[0], foreign)):
        with pytest.raises(OSError, match=r"127\.0\.0\.1|TLS certificate"):
            Client(address, security=security, timeout=1, set_as_default=False)
    assert list(workers.map(square, jobs(1))) == [0]


def test_every_job_is_done_in_order(workers, tmp_path):
    assert list(workers.map(square, jobs(20))) == [i * i for i in range(20)]
    assert list(workers.map(late_first, jobs(6), tmp_path)) == [*range(6)]
    assert list(workers.map(square, [])) == []
    assert list(workers.map(settings_of_threads, jobs(1))) == [["1"] * 4]
    assert list(workers.map(scaled, jobs(3), {"by": 5})) == [0, 5, 10]  # what is shared is first


def test_an_error_of_a_job_is_the_error(workers):
    with pytest.raises(InputFormatError, match=r"^a\.fa:7: is broken$") as found:
        list(workers.map(fail, [(7,)]))
    assert (found.value.path, found.value.line) == ("a.fa", 7)
    with pytest.raises(TimeoutError, match="too late"):
        list(workers.map(late, jobs(1)))
    assert list(workers.map(square, jobs(2))) == [0, 1]


def test_a_job_whose_worker_dies_is_done_again(workers, tmp_path):
    assert list(workers.map(die_once, jobs(6), tmp_path)) == list(range(6))
    assert (tmp_path / "dead").exists()


def test_a_job_at_which_every_worker_dies_ends(workers):
    with pytest.raises(SeqmtlError, match=r"^one worker after the other died at the same job, the"):
        list(workers.map(die, jobs(1)))
    assert list(workers.map(square, jobs(2))) == [0, 1]


def test_workers_of_this_machine_that_never_come_back_are_no_hang():
    with connect("local:1") as lost:
        lost.client.cluster.scale(0)
        patient = Workers(lost.client, "local:1", patience=0.1)
        with pytest.raises(SeqmtlError, match=r"^local:1: all workers died, and none came back wi"):
            list(patient.map(square, jobs(2)))


def test_a_folder_that_workers_cannot_see_is_named(workers, tmp_path):
    with pytest.raises(SeqmtlError, match=r"^worker \S+ cannot read \S+gone; put files where"):
        workers.check(str(tmp_path / "gone"))
    workers.check(str(tmp_path))


def workers_besides(before):
    """Return the processes that this one has started since."""
    found = []
    for process in set(psutil.Process().children(recursive=True)) - before:
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [process] * ("resource_tracker" not in " ".join(process.cmdline()))
    return found


def test_local_workers_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(psutil.Process().children(recursive=True))
    (tmp_path / "out").mkdir()
    with contextlib.suppress(KeyError), connect("local:1") as found:
        found.client.submit(mark_and_stay, tmp_path / "out", 7)
        wait_for(tmp_path / "out" / "7")
        raise KeyError  # it does not wait for the job
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    while workers_besides(before):
        time.sleep(0.02)


def test_ctrl_c_ends_the_command_and_its_workers(tmp_path):
    program = (
        "import pathlib, sys\n"
        "from tests.cluster.test_cluster import *\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored behind an &\n"
        "    with connect('local:1') as found:\n"
        "        list(found.map(mark_and_stay, jobs(1), pathlib.Path(sys.argv[1])))\n"
    )
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "out").mkdir()
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "out")],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    wait_for(tmp_path / "out" / "0")
    os.killpg(process.pid, signal.SIGINT)
    _, text = process.communicate()
    assert text.rstrip().endswith("KeyboardInterrupt")
    assert {path.name for path in tmp_path.iterdir()} == {"program.py", "out"}


def test_addresses(seqmtl):
    for address in ("local:2", "tcp://host:8786", "tls://10.0.0.1:1", "host:8786", "s.json"):
        assert check_address(address) == address
    for address in ("local", "local:0", "local:-1", "host", "a.txt"):
        with pytest.raises(ValueError, match="must be the address of a scheduler"):
            check_address(address)
    shown = seqmtl("train w.tsv -o x --dask host", 2).err
    assert "or local:N for N processes of this machine, got" in shown


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with (
        pytest.raises(SeqmtlError, match="needs dask; run: pip install dask distributed crypto"),
        connect("local:1"),
    ):
        pass


def test_a_scheduler_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "TIMEOUT", 0.5)
    for address in ("tcp://127.0.0.1:1", "127.0.0.1:1"):
        with pytest.raises(SeqmtlError, match=r"no scheduler answers at .*127\.0\.0\.1:1 within"):
            connect(address).__enter__()
    with pytest.raises(SeqmtlError, match=r"none\.json: no such scheduler file; start"):
        connect(str(tmp_path / "none.json")).__enter__()


def test_a_scheduler_that_dies_is_told(processes, tmp_path):
    scheduler = processes.start("scheduler")
    processes.start("worker")

    def kill():
        wait_for(tmp_path / "0")
        scheduler.kill()

    with connect(processes.address) as found:
        threading.Thread(target=kill).start()
        with pytest.raises(SeqmtlError, match=r"scheduler \S+\.json is gone; start it again, and"):
            list(found.map(mark_and_stay, jobs(1), tmp_path))


def test_workers_may_come_later_and_of_another_version_not_at_all(processes, tmp_path, caplog):
    processes.start("scheduler")
    other = tmp_path / "other" / "seqmtl"
    other.mkdir(parents=True)
    (other / "__init__.py").touch()
    (other / "_version.py").write_text('__version__ = "0.0.1"\n')
    with caplog.at_level(logging.INFO), connect(processes.address) as found:
        assert "has no workers yet; waiting for the first" in caplog.text
        results = found.map(square, jobs(2))
        processes.start("worker")
        assert list(results) == [0, 1]
        environment = {**os.environ, "PYTHONPATH": str(other.parent)}
        processes.started[1].kill()
        while found.n_threads():  # it is not yet known that the worker is dead
            time.sleep(0.02)
        processes.start("worker", env=environment)
        this = re.escape(__version__)
        told = rf"worker \S+ has seqmtl 0\.0\.1, and this is {this}; install the same"
        with pytest.raises(SeqmtlError, match=told):
            list(found.map(square, jobs(2)))
        with pytest.raises(SeqmtlError, match=told):
            found.check()
