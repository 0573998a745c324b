"""`unbribable page`: serves this machine alone, says where, and says what is missing."""

import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("typer")

from typer.testing import CliRunner

from unbribable.cli.main import app


def test_the_page_says_where_it_is_serves_this_machine_alone_and_ends_with_ctrl_c():
    command = [sys.executable, "-m", "unbribable", "page", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = json.loads("".join(server.stdout.readline() for _ in range(5)))
        assert said["address"].startswith(f"http://127.0.0.1:{said['port']}/?token=")
        with urllib.request.urlopen(said["address"], timeout=10) as answer:
            assert b"Be the liar" in answer.read()
        foreign = urllib.request.Request(said["address"], headers={"Host": "elsewhere.example"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(foreign, timeout=10)
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=20) == 0


def test_a_port_that_is_taken_is_refused_with_the_rule():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = CliRunner().invoke(app, ["page", "--port", str(taken.getsockname()[1])])
    assert done.exit_code == 2
    assert "host and port must be free" in done.output


def test_without_the_extra_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(app, ["page"])
    assert done.exit_code == 1
    assert 'pip install "unbribable[web]"' in done.output
