"""Builds the C part along with the package where there is a C compiler; NumPy does without it."""

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

SOURCE = "unbribable/theory/knapsack.c"


class CustomBuildHook(BuildHookInterface):
    """Puts the library beside its source, and into a wheel, which then is for this kind of machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a build, of a wheel or of an editable installation."""
        source = Path(self.root, "src", SOURCE)
        library = source.with_suffix(".so")
        if self.target_name != "wheel" or not compiles(source, library):
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(sys_tags()).platform}"
        build_data["artifacts"].append(f"/src/{SOURCE[:-1]}so")


def compiles(source: Path, library: Path) -> bool:
    """Whether the C compiler makes the library of the source; else one of an older source is removed."""
    # a name of its own first: who has loaded the old one goes on with that
    new = library.with_suffix(f".{os.getpid()}")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    command = [*compiler, "-O3", "-ffp-contract=off", "-shared", "-fPIC"]
    try:
        subprocess.run([*command, "-o", str(new), str(source), "-lm"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):  # there is none, or not of this kind
        new.unlink(missing_ok=True)
        if library.exists() and library.stat().st_mtime < source.stat().st_mtime:
            library.unlink()
        return False
    new.replace(library)
    return True
