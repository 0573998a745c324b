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

import uvicorn
from typer.testing import CliRunner

from unbribable.cli.main import app
from unbribable.cli.page import _listening as listening_at


@pytest.mark.long
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


def test_answers_are_sent_at_once():
    """Nagle's algorithm holds small answers back, for 40 ms each."""
    with (
        listening_at("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.fixture
def stopped(monkeypatch):
    """The server ends as soon as it has begun."""
    monkeypatch.setattr(uvicorn.Server, "run", lambda *args, **words: None)


def test_listening_to_others_says_what_that_means(stopped):
    done = CliRunner().invoke(app, ["page", "--host", "0.0.0.0", "--port", "0"])
    assert done.exit_code == 0
    assert "every address of this machine, 0.0.0.0" in done.stderr
    for words in ("can read and change the study", "unencrypted", "any host name", "ssh -L"):
        assert words in done.stderr
    for host in ("127.0.0.1", "localhost"):
        assert not CliRunner().invoke(app, ["page", "--host", host, "--port", "0"]).stderr


def test_the_address_of_a_database_may_come_from_the_environment(stopped, tmp_path):
    pytest.importorskip("optuna")
    storage = str(tmp_path / "lab.db")
    create = ["study", "create", "laser", "--param", "power=0:5", "--storage", storage]
    assert CliRunner().invoke(app, create).exit_code == 0
    done = CliRunner().invoke(
        app, ["page", "--port", "0", "--json"], env={"UNBRIBABLE_STORAGE": storage}
    )
    assert "/study?token=" in json.loads(done.stdout)["address"]


def test_an_at_sign_in_a_password_is_refused_without_showing_the_password():
    pytest.importorskip("optuna")
    done = CliRunner().invoke(app, ["page", "postgresql://ann:hunt@er2@localhost/lab"])
    assert done.exit_code == 2
    assert "written as %40" in done.output
    assert "hunt" not in done.output
    assert "er2" not in done.output


def test_a_file_that_is_not_there_yet_is_refused_with_the_rule(tmp_path):
    done = CliRunner().invoke(app, ["page", str(tmp_path / "lab.json")])
    assert done.exit_code == 2
    assert "writes its file when it is first asked" in done.output


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
