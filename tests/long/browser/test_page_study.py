"""Watch a study in a real browser while another process tells readings, and take one out."""

import subprocess
import sys
import textwrap

import numpy as np
import optuna
import pytest

import unbribable as ub
from unbribable.hosts.optuna.sampler import UnbribableSampler

SPACE = {"power": optuna.distributions.FloatDistribution(0.0, 5.0)}
TELLER = """
import sys, optuna
from unbribable.hosts.optuna.sampler import UnbribableSampler
optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.load_study(study_name="laser", storage=sys.argv[1])
study.sampler = UnbribableSampler.from_study(study)
for k in range(5):
    trial = study.ask(fixed_distributions=study.sampler.search_space)
    study.tell(trial, -((trial.params["power"] - 3.0) ** 2))
"""


def value(power):
    return -((power - 3.0) ** 2)


@pytest.fixture
def storage(tmp_path):
    """A database with a study of twelve trials; the fifth is a lie."""
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = UnbribableSampler(n_trials=30, search_space=SPACE, seed=987654321)
    study = optuna.create_study(study_name="laser", storage=url, direction="maximize", sampler=sampler)
    for k in range(12):
        trial = study.ask(fixed_distributions=SPACE)
        study.tell(trial, value(trial.params["power"]) + 15.0 * (k == 4))
    return url


def wait(page, words):
    page.get_by_text(words).first.wait_for(timeout=60_000)


def test_a_study_in_sqlite_is_watched_while_another_process_tells_readings(served, tab, storage):
    page = tab(served(storage))
    sent = []
    page.on("response", lambda answer: sent.append(answer.text()))
    wait(page, "12 readings")
    wait(page, "Suspicious readings: 1")
    assert "It looks false" in page.locator("#naive").inner_text()
    assert page.locator("svg.chart").count() >= 2
    assert page.locator("#by-lies rect.bar.allowed").count() == 2  # in the chart and in its key
    assert "All bars hold at once with probability at least 0.9" in page.locator("#by-lies").inner_text()
    command = [sys.executable, "-c", textwrap.dedent(TELLER), storage]
    subprocess.run(command, check=True, timeout=300)
    wait(page, "17 readings")
    assert "power = " in page.locator("#robust .params").inner_text()
    page.reload()
    wait(page, "17 readings")
    assert not any("987654321" in text for text in sent)


def test_a_reading_is_taken_out_with_a_reason_and_the_page_says_what_that_does(served, tab, storage):
    page = tab(served(storage))
    page.get_by_role("button", name="Retract trial 4").click()
    assert page.get_by_role("dialog").is_visible()
    page.get_by_role("button", name="Retract the reading").click()
    assert page.get_by_role("dialog").is_visible()  # no reason, no retraction
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Retract trial 4").click()
    page.get_by_label("Why?").fill("it is far too high")
    page.get_by_label("Yes, or I am not sure").check()
    assert "nothing is guaranteed" in page.get_by_role("dialog").inner_text()
    page.get_by_role("button", name="Retract the reading").click()
    wait(page, "11 readings")
    page.get_by_text("What is guaranteed").click()
    assert "No guarantee" in page.locator("#basis").inner_text()
    study = optuna.load_study(study_name="laser", storage=storage)
    assert "it is far too high" in str(study._storage.get_study_system_attrs(study._study_id))


def test_the_page_holds_5000_trials(served, tab, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "long.json"
    space = np.linspace(0.0, 1.0, 200)[:, None]
    assumptions = ub.Assumptions(ub.SquaredExponential(0.2), B=2.0, B0=1.0, noise_std=0.05)
    points = space[rng.integers(0, 200, 5000)]
    readings = np.sin(5.0 * points[:, 0]) + 0.05 * rng.standard_normal(5000)
    readings[::500] += 1.0
    study = ub.Study(
        space,
        initial=list(zip(points, readings.tolist(), strict=True)),
        assumptions=assumptions,
        corruption=20.0,
    )
    study.save(path)
    page = tab(served(path))
    page.get_by_text("5000 readings").wait_for(timeout=300_000)
    assert page.evaluate("document.querySelectorAll('svg.chart *').length") < 5000


@pytest.fixture
def mixed(tmp_path):
    """A file with a study of a real on a log scale, a whole number and a choice."""
    path, rng = tmp_path / "mixed.json", np.random.default_rng(0)
    space = {"flow": ub.Real(0.5, 200.0, log=True), "pulses": (1, 10), "gas": ["Ar", "N2", "He"]}
    with ub.Study(space, seed=1, file=path) as study:
        for _ in range(12):
            query = study.ask()
            study.tell(query, -((query.params["pulses"] - 6) ** 2) + 0.1 * rng.standard_normal())
    return path


def test_axes_are_in_the_units_of_the_parameters_and_nothing_lies_between_choices(served, tab, mixed):
    page = tab(served(mixed))
    page.get_by_text("Along gas").wait_for()

    def panel(name):
        return page.get_by_role("article").filter(has_text=f"Along {name}, through the answer")

    def words(name):
        middle = panel(name).locator("svg.chart").first.locator("text[text-anchor=middle]")
        return {*middle.all_text_contents()} - {"value", name}

    assert words("flow") == {"1", "3", "10", "30", "100"}
    assert words("pulses") == {"2", "4", "6", "8", "10"}
    assert words("gas") == {"Ar", "N2", "He"}
    for name, n in (("pulses", 10), ("gas", 3)):
        lines = panel(name).locator("svg.chart").first.locator("path.mean")
        assert lines.count() == n
        assert all("h18" in line.get_attribute("d") for line in lines.all())
    assert panel("flow").locator("svg.chart").first.locator("path.mean").count() == 1
    for name in ("flow", "pulses", "gas"):
        is_said = panel(name).get_by_text("The worst case is wider than this panel").count()
        assert is_said != panel(name).get_by_text("worst case", exact=True).count()


def test_a_database_that_is_gone_is_named_and_comes_back(served, tab, storage, tmp_path):
    page = tab(served(storage))
    wait(page, "12 readings")
    wait(page, "Up to date")
    file = tmp_path / "lab.db"
    whole = file.read_bytes()
    tab.refused = 100
    file.write_bytes(b"no database " * 5000)
    wait(page, "the database must be within reach")
    file.write_bytes(whole)
    wait(page, "Up to date")


def test_without_a_study_the_page_says_how_to_start(served, tab):
    page = tab(served().replace("/?", "/study?"))
    page.get_by_text("No study to watch").wait_for()


def test_without_the_token_the_page_says_so_and_shows_nothing(served, tab, tmp_path):
    ub.Study({"x": (0.0, 1.0)}, initial=[({"x": 0.5}, 1.0)]).save(tmp_path / "lab.json")
    tab.refused = 1
    page = tab(served(tmp_path / "lab.json").split("?")[0])
    page.get_by_text("a token is needed").wait_for()
    assert page.locator(".panel").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_the_study_is_not_wider_than_the_screen(served, tab, storage, scheme):
    page = tab(served(storage), width=360, height=740, color_scheme=scheme)
    wait(page, "12 readings")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


DROP = """([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
}"""


def test_a_studys_file_that_is_dropped_anywhere_is_watched_and_a_table_is_not(served, tab, tmp_path):
    with ub.Study({"power": (0.0, 5.0)}, seed=1, file=tmp_path / "laser.json") as study:
        for k, power in enumerate(np.linspace(0.0, 5.0, 12)):
            study.tell({"power": power}, value(power) + 15.0 * (k == 4))
    tab.refused = 1  # the table
    page = tab(served().replace("/?", "/study?"))
    page.get_by_text("No study to watch").wait_for()
    page.evaluate(DROP, ["furnace.csv", "power,yield\n1,2\n"])
    page.get_by_text("This file cannot be watched").wait_for()
    page.evaluate(DROP, ["laser.json", (tmp_path / "laser.json").read_text(encoding="utf-8")])
    wait(page, "12 readings")
    wait(page, "Suspicious readings: 1")
    assert page.locator("#names").input_value() == "laser.json"
    assert page.get_by_role("button", name="Retract").count() == 0, "it is a copy"
