"""The commands, in words instead of the paper's letters. What is heavy is imported when it is needed."""

import shlex
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbribable.cli.audit import audit
from unbribable.cli.door import Answer, door, option, usage
from unbribable.cli.page import page
from unbribable.cli.show import progress_bar, say, sheet, table
from unbribable.cli.study_files import app as study

if TYPE_CHECKING:
    from unbribable.lab.runs.sweep import Progress

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(study, name="study")
app.command()(audit)
app.command()(page)


def _version(is_wanted: bool) -> None:
    if is_wanted:
        from unbribable.theory.compiled import LIBRARY

        part = ", without its compiled part: slower, the same results"
        say(f"unbribable {version('unbribable')}{part if LIBRARY is None else ''}")
        raise typer.Exit


@app.callback()
def unbribable(
    is_version: Annotated[
        bool, option("Print the version and exit.", "--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Bayesian optimization that cannot be bribed."""


_KIND = "Kind ({}, ...) or the spec's label."


@app.command()
@door
def demo(
    seeds: Annotated[int, option("Games of each learner.", min=1)] = 20,
    out: Annotated[Path, option("Where figure1.png and figure1.svg go.")] = Path(),
    figure: Annotated[bool, option("Draw the figure.")] = True,
) -> Answer:
    """Play the paper's Figure 1: lies near the maximum, and which learner still finds it.

    \b
    Examples:
      unbribable demo
      unbribable demo --seeds 100 --out figures
      unbribable demo --json
    """
    from unbribable.cli.demo import play_demo

    with progress_bar("games") as bar:
        data = play_demo(seeds, out if figure else None, lambda done, total: bar(done, total, ""))
    setting = data["setting"]
    played = table(
        f"Readings near x* are lowered by a third until C = {setting['corruption']:g} is spent",
        data["learners"],
        near_optimum=f"last {setting['last']} of {setting['rounds']} near x*",
        found_optimum="found x*",
    )
    words = (
        "found x*: share of the games whose recommended point is near x*\n"
        "GP-UCB and RobustGPUCB play with beta = 2 as in the paper's figure, a width set by hand:\n"
        "nothing is guaranteed by it. The others play with widths that are proven."
    )
    files = [f"wrote {file}" for file in data["files"]]
    return Answer(data, "\n".join([played, words, *files]))


@app.command()
@door
def run(
    spec: Annotated[Path | None, typer.Argument(help="A spec file, to play one cell of it.")] = None,
    algorithm: Annotated[str | None, option(_KIND.format("GPUCB, RobustGPUCB, FastSlowGPUCB"))] = None,
    adversary: Annotated[str | None, option(_KIND.format("none, top_k, flip, zero_out"))] = None,
    objective: Annotated[str | None, option(_KIND.format("random_rkhs, gp_draw, figure_1"))] = None,
    corruption: Annotated[float | None, option("Total corruption C.")] = None,
    noise: Annotated[float | None, option("Standard deviation of the noise.")] = None,
    rounds: Annotated[int | None, option("Rounds T.")] = None,
    seed: Annotated[int | None, option("Seed of the whole game.")] = None,
    threat: Annotated[str | None, option("weak or strong.")] = None,
    settings: Annotated[
        list[str] | None, option("SECTION.KEY=VALUE, the value in TOML; repeat.", "--set")
    ] = None,
    profile: Annotated[str | None, option("Profile of the spec.")] = None,
    save: Annotated[Path | None, option("Write the record to this .npz file.")] = None,
) -> Answer:
    """Play one game, from flags or from a cell of a spec file, and print the outcome.

    \b
    Examples:
      unbribable run --algorithm RobustGPUCB --adversary top_k --corruption 5
      unbribable run --objective figure_1 --adversary region_subtraction --set adversary.radius=0.12
      unbribable run --algorithm GPUCB --set algorithm.beta=2 --set assumptions.lam=1
      unbribable run experiments/figure1.toml --algorithm GP-UCB --seed 3
    """
    from unbribable.cli.run import run_from_flags, run_from_spec, summary
    from unbribable.lab.runs.play import play

    wanted = {
        "algorithm": algorithm, "adversary": adversary, "objective": objective,
        "corruption": corruption, "rounds": rounds, "seed": seed,
    }  # fmt: skip
    with usage():
        if spec is not None:
            if settings or noise is not None or threat is not None:
                raise ValueError("--set, --noise and --threat must be left out where a spec is given")
            chosen = run_from_spec(spec, profile, wanted)
        else:
            if profile is not None:
                raise ValueError(f"--profile must come with a spec file, got {profile!r} alone")
            defaults = {
                "algorithm": "RobustGPUCB", "adversary": "top_k", "objective": "random_rkhs",
                "corruption": 3.5, "rounds": 200, "seed": 0, "noise": 0.05, "threat": "weak",
            }  # fmt: skip
            given = {**wanted, "noise": noise, "threat": threat}
            flags = {k: defaults[k] if value is None else value for k, value in given.items()}
            chosen = run_from_flags(flags, settings or [])
        if save is not None and not save.parent.is_dir():
            raise ValueError(f"--save must be in a directory that exists, got {save}")
    record = play(chosen.to_plain())
    if save is not None:
        with usage():
            record.save(save)
    data = summary(record)
    return Answer(data, sheet("One game", data))


@app.command()
@door
def sweep(
    spec: Annotated[Path, typer.Argument(help="A TOML spec, for example experiments/figure1.toml.")],
    out: Annotated[Path, option("Directory of the sweep; a second call resumes it.")],
    profile: Annotated[str | None, option("Profile of the spec.")] = None,
    seeds: Annotated[
        str | None, option("In place of the spec's: 10 (0 to 9), 100-104 or 3,5,8.")
    ] = None,
    workers: Annotated[int | None, option("Processes; one per core by default.", min=1)] = None,
    scheduler: Annotated[str | None, option("Address of a Dask scheduler.")] = None,
    serial: Annotated[
        bool, option("Play here, one by one; a call that never returns is not ended.", "--serial")
    ] = False,
) -> Answer:
    """Play every run of a spec whose record is missing or damaged, on all cores or on a cluster.

    A spec that names classes of its own (kind = "module:Class") runs their code, here as soon as it
    is read, and on the workers: treat a spec from somebody else as a program.

    \b
    Examples:
      unbribable sweep experiments/figure1.toml --out results/figure1
      unbribable sweep experiments/rgp_pe_smooth.toml --out results/smooth --profile full --workers 16
      unbribable sweep experiments/attacks.toml --out /shared/attacks --scheduler tcp://head:8786

    \b
    Exit code: 0 all runs are done, 1 some failed, 2 wrong usage, 130 interrupted.
    """
    from unbribable.cli.run import seeds_of
    from unbribable.lab.runs.spec import load_spec
    from unbribable.lab.runs.sweep import sweep as play_all

    with usage():
        plan = load_spec(spec, profile, None if seeds is None else seeds_of(seeds))
        plan.runs()
        if serial and (scheduler is not None or workers is not None):
            raise ValueError("--serial must come without --workers and --scheduler")
        out.mkdir(parents=True, exist_ok=True)
    try:
        with progress_bar("runs") as bar:

            def show(tally: "Progress") -> None:
                words = f"{tally.done} done, {len(tally.failed)} failed, {tally.left} left"
                bar(tally.total - tally.left, tally.total, words)

            tally = play_all(
                plan, out, profile=profile, n_workers=workers, scheduler=scheduler, serial=serial,
                on_change=show,
            )  # fmt: skip
    except KeyboardInterrupt:
        line = shlex.join(["unbribable", *sys.argv[1:]])
        say(f"interrupted; what is finished is kept. To resume:\n  {line}", is_note=True)
        raise typer.Exit(130) from None
    except (OSError, RuntimeError, ValueError) as error:
        say(f"unbribable: {error}", is_note=True)
        raise typer.Exit(2 if isinstance(error, ValueError) else 1) from None
    failed = [str(out / "failed" / f"{key}.json") for key in tally.failed]
    counts = {"total": tally.total, "kept": tally.kept, "done": tally.done, "left": tally.left}
    lists = {"failed": failed, "damaged": list(tally.damaged)}
    lines = [
        f"{tally.total} runs in {out}: {tally.kept} were there, {tally.done} played in "
        f"{tally.seconds:.1f} s, {len(failed)} failed",
        *(f"  played again: {words}" for words in tally.damaged),
        *(f"  failed: {file}" for file in failed),
    ]
    data = {"directory": str(out), **counts, **lists, "seconds": tally.seconds}
    return Answer(data, "\n".join(lines), exit_code=1 if failed else 0)


@app.command()
@door
def report(
    directory: Annotated[Path, typer.Argument(help="Directory of a sweep.")],
    out: Annotated[Path | None, option("Where to write; DIRECTORY/report by default.")] = None,
    baseline: Annotated[str | None, option("Label the others are compared to.")] = None,
) -> Answer:
    """Write tables (Markdown, CSV) and figures (PNG, SVG) of a sweep.

    \b
    Examples:
      unbribable report results/figure1
      unbribable report results/smooth --baseline "RobustGPUCB (paper)" --json
    """
    from unbribable.lab.report import report as write_report

    with usage():
        data = write_report(directory, out, baseline)
    notes = [f"{data['n_skipped']} files skipped, see report.md"] if data["n_skipped"] else []
    notes += [data["advice"]] if data["advice"] else []
    return Answer(data, "\n".join(f"wrote {file}" for file in data["files"]), notes="\n".join(notes))


@app.command()
@door
def leaderboard(
    directories: Annotated[list[Path], typer.Argument(help="Directories of sweeps, one per protocol.")],
    out: Annotated[Path, option("The page, in Markdown; its figure goes into images beside it.")],
) -> Answer:
    """Write one page and one figure of several sweeps: who loses where, and what protection costs.

    \b
    Examples:
      unbribable sweep experiments/leaderboard/p4.toml --profile quick --out results/p4
      unbribable leaderboard results/p4 --out leaderboard.md
    """
    from unbribable.lab.report.board_page import leaderboard as write_page

    with usage():
        data = write_page(directories, out)
    return Answer(data, "\n".join(f"wrote {file}" for file in data["files"]))


@app.command()
@door
def bound(
    kernel: Annotated[str, option("squared_exponential, matern or linear.")] = "squared_exponential",
    lengthscale: Annotated[float, option("Lengthscale of the kernel; linear: its scale.")] = 0.2,
    smoothness: Annotated[float, option("nu of the Matern kernel.")] = 2.5,
    norm: Annotated[float, option("Bound B on the RKHS norm of f.")] = 2.0,
    largest: Annotated[float, option("Bound B0 on |f|.")] = 1.0,
    noise: Annotated[float, option("Standard deviation of the noise.")] = 0.05,
    lam: Annotated[float, option("Fictitious noise variance of the posterior.")] = 1.0,
    delta: Annotated[float, option("Probability of failure.")] = 0.1,
    cap: Annotated[float | None, option("Largest single lie; B0 by default.")] = None,
    corruption: Annotated[float, option("Total corruption C.")] = 10.0,
    lies: Annotated[int, option("Lies of any size, where they are counted.")] = 3,
    rounds: Annotated[int, option("Rounds T.")] = 10_000,
    points: Annotated[int, option("Candidates per axis.")] = 100,
    dimension: Annotated[int, option("Number of axes.")] = 1,
    low: Annotated[float, option("Lower end of every axis.")] = 0.0,
    high: Annotated[float, option("Upper end of every axis.")] = 1.0,
    gap: Annotated[float | None, option("Rounds until points this much worse are ruled out.")] = None,
) -> Answer:
    """Print information gain, widths and the theorems' regret bounds for given assumptions.

    \b
    Examples:
      unbribable bound --corruption 20 --noise 0.02 --rounds 100000
      unbribable bound --kernel linear --lengthscale 1.5 --dimension 2 --points 10 --json
      unbribable bound --kernel matern --smoothness 1.5 --gap 0.2
    """
    from unbribable.cli.bound import bounds, grid, kernel_of, text
    from unbribable.theory.assumptions import Assumptions

    with usage():
        X = grid(points, dimension, low, high, rounds)
        k = kernel_of(kernel, lengthscale, smoothness)
        cap = largest if cap is None else cap
        a = Assumptions(k, B=norm, B0=largest, noise_std=noise, lam=lam, delta=delta, c_max=cap)
        data = bounds(a, X, corruption, rounds, gap, lies)
    return Answer(data, text(data))
