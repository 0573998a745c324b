"""Who may import whom: the learner cannot see the truth, and the core needs NumPy and SciPy alone."""

import ast
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "unbribable"

MAY_IMPORT = {
    "model": set(),
    "theory": {"model"},
    "decision": {"model", "theory"},
    "doubt": {"model"},
    "say": {"model", "theory", "decision", "doubt"},
    "study": {"model", "theory", "decision", "doubt", "say", "auditing"},  # late: `Study.audit`, tables
    "auditing": {"model", "theory", "decision", "doubt", "say", "study", "say/figures"},
    "say/figures": {"model", "decision", "doubt", "say", "study", "auditing"},
    "hosts": {"model", "theory", "decision", "doubt", "say", "study"},
    "page": {
        "model",
        "theory",
        "decision",
        "doubt",
        "say",
        "say/figures",
        "study",
        "auditing",
        "lab/game",
    },
    "lab": {"lab/world", "lab/rivals", "lab/runs"},
    "lab/world": {"model"},
    "lab/rivals": {"model", "theory", "decision", "study"},
    "lab/runs": {"model", "theory", "decision", "lab/world", "lab/rivals"},
    "lab/report": {"model", "say/figures", "lab/runs", "lab/rivals"},
    "lab/theorems": {"model", "theory"},
    "lab/game": {"model", "theory", "decision", "say/figures", "lab/world", "lab/runs"},
}
MAY_IMPORT["cli"] = set(MAY_IMPORT)
"""Floor -> other floors it may import. Rooms of the lab are floors: its learners and its world are as
far apart as any."""

BESIDE = {
    "__init__.py": {"model", "theory", "decision", "doubt", "say/figures", "study", "auditing"},
    "__main__.py": {"cli"},
    **{name: set() for name in ("extras.py", "files.py")},
}
"""The same of the files beside the floors."""

PRINTS = PACKAGE / "model" / "spoken.py"
"""The one exception: values print as sentences. `say` is imported there alone, and only on printing."""

LAB = {floor for floor in MAY_IMPORT if floor.startswith("lab")}
DOORS_OF_THE_LAB = {"page", "cli"}

FILES = sorted(PACKAGE.rglob("*.py"))


def floor_of(path):
    return floor_at(path.relative_to(PACKAGE).parts[:-1]) if path.parent != PACKAGE else None


def floor_at(folders):
    """The floor of what stands in these folders of the package; in the lab, each room is one."""
    n = 2 if folders[0] == "lab" or folders[:2] in (("say", "figures"), ["say", "figures"]) else 1
    return "/".join(folders[:n])


def imported_modules(path):
    """Absolute dotted names of everything the file imports, at any depth of the code."""
    package = ["unbribable", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def floors_imported(path):
    for name in imported_modules(path):
        parts = name.split(".")
        if parts[0] == "unbribable" and len(parts) > 1 and (PACKAGE / parts[1]).is_dir():
            folders = [
                part for part in parts[1:3] if (PACKAGE / parts[1] / part).is_dir() or part == parts[1]
            ]
            yield floor_at(folders)
        elif parts == ["unbribable"]:
            yield "unbribable"


def test_every_floor_is_in_the_table():
    assert {floor_of(path) for path in FILES if path.parent != PACKAGE} == set(MAY_IMPORT)
    assert {path.name for path in PACKAGE.glob("*.py")} == set(BESIDE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_floor_imports_only_the_floors_it_may(path):
    floor = floor_of(path)
    allowed = BESIDE[path.name] if floor is None else MAY_IMPORT[floor]
    used = set(floors_imported(path)) - {floor} - ({"say"} if path == PRINTS else set())
    assert used <= allowed, f"{floor or path.name} imports {sorted(used - allowed)}"


def test_values_reach_their_words_only_when_they_are_printed():
    tree = ast.parse(PRINTS.read_text(encoding="utf-8"))
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body)
    assert "say" in floors_imported(PRINTS)


def test_learner_and_world_never_meet_below_runs():
    learners = {"model", "theory", "decision", "lab/rivals"}
    for path in FILES:
        used = set(floors_imported(path))
        if floor_of(path) in learners:
            assert "lab/world" not in used
        if floor_of(path) == "lab/world":
            assert not used & (learners - {"model"})


def test_the_optimizer_does_not_import_the_lab():
    assert {"lab", "lab/world", "lab/rivals", "lab/runs"} <= LAB
    for path in FILES:
        if floor_of(path) not in LAB | DOORS_OF_THE_LAB:
            assert not LAB & set(floors_imported(path)), path


def test_import_unbribable_loads_no_module_of_the_lab():
    """Looked at in a fresh process, after everything that `unbribable` offers by name."""
    script = textwrap.dedent(
        """
        import sys
        import unbribable as ub

        for name in ub.__all__:
            getattr(ub, name)
        def loaded():
            return [name for name in sys.modules if name.startswith("unbribable.lab")]

        if loaded():
            raise SystemExit(f"loaded: {loaded()}")
        from unbribable import lab

        if not loaded():
            raise SystemExit("what is loaded is not seen")
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_extras_are_asked_for_in_one_place_and_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = set()
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert "unbribable[" not in text or path.name == "extras.py", path
        asked |= {*re.findall(r"""\b(?:needed|missing)\(.*?["'](\w+)["']\)""", text)}
    assert {"audit", "cli", "optuna", "plot", "postgres", "sweep", "web"} <= asked
    assert asked <= {*project["optional-dependencies"]}


def test_importing_the_library_needs_numpy_and_scipy_alone():
    script = textwrap.dedent(
        """
        import sys

        ALLOWED = {"numpy", "scipy", "unbribable"}

        class Blocker:
            def find_spec(self, name, path=None, target=None):
                top = name.partition(".")[0]
                if top in ALLOWED or top in sys.stdlib_module_names or top.startswith("_"):
                    return None
                raise ModuleNotFoundError(f"blocked: {name}", name=name)

        sys.meta_path.insert(0, Blocker())
        try:
            import pytest
        except ModuleNotFoundError:
            pass
        else:
            raise SystemExit("the blocker does not block")

        import unbribable as ub

        domain = ub.Grid([[0.0], [0.5], [1.0]])
        assumptions = ub.Assumptions(ub.SquaredExponential(0.3), B=1.0, B0=1.0, noise_std=0.1)
        algorithm = ub.RobustGPUCB(domain, assumptions, C=1.0)
        algorithm.tell(algorithm.ask(), 0.5)
        algorithm.recommend()
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
