"""What the documents show is what happens: every block runs or is checked, every link leads somewhere.

A block is one of these, and any other is refused:

* python or sh, also as {run} on the site: it runs, in one folder for each document;
* no language, right after Python: what that printed;
* no language, elsewhere: commands that would take hours, a network or a cluster. Every word is parsed:
  programs, commands, options and their values, extras, targets, modules, specs and their profiles;
* text: the tree of the house, whose entries exist;
* a directive of the site without code.
"""

import contextlib
import importlib.util
import io
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import unbribable as ub
from unbribable.cli.main import app
from unbribable.lab.runs.spec import load_spec

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("site_text", ROOT / "docs/site_text.py")
site_text = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(site_text)
MADE = {"_site", "kept", "reference"}
"""Folders of docs that the site's building fills."""
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if not MADE & {*path.parts})
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/results.md", *PAGES]
BLOCK = re.compile(r"^```([^\n]*)\n(?::\w+:[^\n]*\n)*(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:unbribable|make|pip|python -m) [^`\n]+)`")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
WITHOUT_CODE = ("toctree", "image", "eval-rst", "command", "readme")
YOURS = ("experiments.csv", "past.csv")
"""Tables that a document supposes its reader to have."""
COMMANDS = typer.main.get_command(app)


def blocks(path):
    """Line number, kind and text of every block; the kind is python, sh, printed, parsed or text."""
    text, last, end = path.read_text(encoding="utf-8"), "", 0
    for match in BLOCK.finditer(text):
        info = match.group(1)
        if info.startswith("{") and info.strip("{").split("}")[0] in WITHOUT_CODE:
            continue
        follows = last == "python" and text[end : match.start()] == "\n\n"
        kind = info.removeprefix("{run} ") or ("printed" if follows else "parsed")
        last, end = kind, match.end()
        yield text.count("\n", 0, match.start(2)), kind, match.group(2)


def kinds(*wanted):
    """The documents that have a block of such a kind."""
    return [path for path in DOCUMENTS if any(kind in wanted for _, kind, _ in blocks(path))]


def lines_of(block):
    """The words of every command of a block, without comments."""
    return [words for line in block.splitlines() if (words := shlex.split(line, comments=True))]


def is_printed(shown, printed):
    """Whether just that was printed, all of it; numbers up to rounding."""
    numbers = [float(each) for each in NUMBER.findall(shown)]
    found = [float(each) for each in NUMBER.findall(printed)]
    says = NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split()
    return says and found == pytest.approx(numbers, rel=0.05, abs=0.01)


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_block_is_of_a_kind_that_is_checked(path):
    text = path.read_text(encoding="utf-8")
    assert len(re.findall(r"^ *(?:```|~~~)", text, re.MULTILINE)) == 2 * len(BLOCK.findall(text))
    for line, kind, _ in blocks(path):
        assert kind in ("python", "sh", "printed", "parsed", "text"), f"{path.name}:{line}"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=name_of(path), marks=() if path.parent == ROOT else pytest.mark.long)
        for path in kinds("python", "sh")
    ],
)
def test_every_block_of_a_document_runs(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in YOURS:
        rows = (f"{0.4 * k},{1 + 7 * k},{3 - (0.4 * k - 2) ** 2:.2f}" for k in range(12))
        Path(name).write_text("\n".join(["power,pulses,yield", *rows]))
    namespace, printed = {"__name__": "document"}, ""
    for line, kind, block in blocks(path):
        if kind == "python":
            code = compile("\n" * line + block, str(path), "exec")  # so that a traceback names the line
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, namespace)
            printed = out.getvalue()
        elif kind == "sh":
            for program, *words in lines_of(block):
                done = CliRunner().invoke(app, words)
                assert (program, done.exit_code) == ("unbribable", 0), (
                    f"{path.name}:{line}: {done.output}"
                )
        elif kind == "printed":
            assert is_printed(block, printed), printed


def leaf(command, words):
    """The command that the first words name, and the words after them."""
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    assert not (words and hasattr(command, "commands")), f"no command {words[0]!r}"
    return command, words


def parse_unbribable(words):
    command, words = leaf(COMMANDS, words)
    try:
        given = command.make_context(command.name, words).params
    except typer.Exit:  # --help
        return
    if command.name == "sweep":
        load_spec(ROOT / given["spec"], given["profile"])


def parse_dask(words):
    from distributed.cli import dask_scheduler, dask_worker

    command = {"scheduler": dask_scheduler, "worker": dask_worker}[words[0]].main
    command.make_context(words[0], words[1:])


def parse_make(words):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*words} <= {*targets}


def parse_pip(words):
    install, what = words
    extras = re.fullmatch(r"(?:unbribable|\.)\[([a-z,]+)\]", what).group(1).split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert install == "install"
    assert {*extras} <= {*project["optional-dependencies"]}


def parse_python(words):
    dash_m, module, *rest = words
    path = ROOT / f"{module.replace('.', '/')}.py"
    source = (path if path.exists() else path.with_suffix("") / "__main__.py").read_text()
    assert dash_m == "-m"
    assert all(f'"{word}"' in source for word in rest if word.startswith("-"))


PARSE = {
    "unbribable": parse_unbribable,
    "dask": parse_dask,
    "make": parse_make,
    "pip": parse_pip,
    "python": parse_python,
}


@pytest.mark.parametrize("path", kinds("parsed"), ids=name_of)
def test_every_command_that_is_shown_and_not_run_would_be_understood(path, capsys):
    for line, kind, block in blocks(path):
        if kind == "parsed":
            for program, *words in lines_of(block):
                assert program in PARSE, f"{path.name}:{line}: {program}"
                PARSE[program](words)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_command_within_a_sentence_exists_with_its_options(path):
    for said in INLINE.findall(path.read_text(encoding="utf-8")):
        program, *words = shlex.split(said)
        if program == "unbribable":  # often without its arguments
            command, words = leaf(COMMANDS, words)
            known = {name for parameter in command.params for name in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= known, said
        else:
            PARSE[program](words)


def all_commands(command=COMMANDS, words=()):
    """Every command with its words."""
    for name, inner in getattr(command, "commands", {}).items():
        yield " ".join([*words, name]), inner
        yield from all_commands(inner, [*words, name])


def test_every_example_in_the_help_of_a_command_would_be_understood():
    helps = [command.help or "" for _, command in all_commands()]
    lines = [line for text in helps for line in re.findall(r"^ +unbribable (.*)$", text, re.MULTILINE)]
    assert len(lines) > 5
    for line in lines:
        parse_unbribable(shlex.split(line, comments=True))


def test_the_tree_of_the_house_names_every_floor_and_file():
    (tree,) = (block for _, kind, block in blocks(ROOT / "CONTRIBUTING.md") if kind == "text")
    top, *entries = (re.match(r"( *)(\S+)", line).groups() for line in tree.splitlines())
    package = ROOT / top[1]
    beside = {path.name + "/" * path.is_dir() for path in package.iterdir() if path.stem[0] != "_"}
    assert {name for indent, name in entries if indent == "  "} == beside - {"py.typed"}
    above = package
    for indent, name in entries:
        assert ((package if indent == "  " else above) / name).exists(), name
        above = package / name if indent == "  " else above


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_link_between_documents_leads_somewhere(path):
    for target in re.findall(r"(?:\]\(|\{image\} )([^)#\s]+)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_the_reference_has_a_page_for_every_public_name():
    text = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    named = re.findall(r"^   ~unbribable\.(\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(ub.__all__)
    assert named.index("maximize") < named.index("Study") < named.index("audit") < named.index("Grid")


def test_the_page_of_commands_shows_every_command_once():
    text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```\{command\} (.+)$", text, re.MULTILINE)
    assert sorted(shown) == sorted(name for name, _ in all_commands())


def test_every_page_stands_in_the_index_once():
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    listed = [
        line
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
        for line in tree.splitlines()
        if line and not line.startswith(":")
    ]
    pages = [str(path.relative_to(ROOT / "docs").with_suffix("")) for path in PAGES]
    kept = [f"kept/{name}" for name in site_text.ELSEWHERE]
    assert sorted([*listed, "index"]) == sorted([*pages, *kept])


def test_the_first_page_shows_the_first_screen_of_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    parts = re.findall(r"^```\{readme\}\n:from: (.*)\n:to: (.*)\n```$", text, re.MULTILINE)
    first, install = [readme[(at := readme.index(a)) : readme.index(b, at)] for a, b in parts]
    assert "print(result.summary())" in first
    assert "use power=" in first
    assert "docs/images/history.png" in first
    assert "pip install" in install
    assert text.count(":::{grid-item-card}") == 3


def test_a_link_leads_to_the_page_of_the_site_that_has_the_text():
    text = "[a](../CONTRIBUTING.md) [b](threats.md#tables) [c](../Makefile) ![d](images/history.png)"
    led = site_text.led(text, ROOT / "docs", "tutorials/optuna")
    assert led == "[a](../kept/contributing.md) [b](../threats.md#tables) c ![d](../images/history.png)"


def test_what_is_printed_for_a_terminal_is_folded_anew_for_the_site():
    long = "  worst case: " + "word " * 19 + "end"
    text = f"use x=1\n{long}\n    and so on\nsuspicious: 2\n┃ a | {'b' * 100} ┃"
    first, *rest = site_text.folded(text).splitlines()
    assert first == "use x=1"
    assert max(map(len, rest[:-2])) <= 90
    assert " ".join(" ".join(rest[:-2]).split()) == " ".join(f"{long} and so on".split())
    assert rest[-2:] == ["suspicious: 2", f"┃ a | {'b' * 100} ┃"]


def test_a_figure_on_white_is_turned_into_one_on_the_ground_of_the_night(tmp_path):
    image = pytest.importorskip("PIL.Image")
    colors = [(255, 255, 255), (0, 0, 0), (0, 114, 178)]
    picture = image.new("RGB", (3, 1))
    picture.putdata(colors)
    picture.save(tmp_path / "day.png")
    site_text.darken(tmp_path / "day.png", tmp_path / "night.png")
    with image.open(tmp_path / "night.png") as made:
        ground, ink, blue = (made.getpixel((k, 0)) for k in range(3))
    assert ground == (20, 20, 20)
    assert ink == (255, 255, 255)
    assert blue[2] > blue[1] > blue[0], "the hue is kept"
    assert sum(blue) > sum(colors[2]), "and what was darker than the middle is lighter now"
