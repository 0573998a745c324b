"""Watch a study: everything it says, nothing of its seed, and no change without a reason and a token."""

import threading
import time

import numpy as np
import pytest

import unbribable as ub
from page.pages import client
from unbribable.page.source import StudyFile
from unbribable.page.watch import Watch
from unbribable.say.recommendation import needs
from unbribable.study.result import Result

LIE = 5
"""The round that is a lie."""


def value(x):
    return float(np.exp(-8.0 * (x - 0.7) ** 2))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A file with a study of twelve readings, one of them a lie."""
    path = tmp_path_factory.mktemp("study") / "lab.json"
    with ub.Study({"x": (0.0, 1.0)}, seed=123456789, file=path) as study:
        for t, x in enumerate(np.linspace(0.0, 1.0, 12), 1):
            study.tell({"x": x}, value(x) + 0.001 * (-1) ** t + 1.5 * (t == LIE))
    return path


@pytest.fixture
def file(told, tmp_path):
    """The same, to be changed."""
    copy = tmp_path / "lab.json"
    copy.write_bytes(told.read_bytes())
    return copy


def looked(browser, after=0):
    """What the page shows once everything is worked out, and more than was known before."""
    for _ in range(600):
        answer = browser.get("/api/study", params={"name": "lab.json"})
        assert answer.status_code == 200, answer.text
        if answer.json()["number"] > after and not answer.json()["is_behind"]:
            return answer.json()
        time.sleep(0.02)
    raise AssertionError("the study was not worked out in time")


def test_a_reading_without_limit_is_shown(tmp_path):
    path = tmp_path / "lab.json"
    with ub.Study({"x": (0.0, 1.0)}, seed=1, file=path, reading_range=(-2.0, 2.0)) as study:
        for t, x in enumerate(np.linspace(0.0, 1.0, 8), 1):
            study.tell({"x": x}, np.inf if t == LIE else value(x))
    found = looked(client(source=StudyFile(path)))
    assert found["y"][LIE - 1] == found["suspects"][0]["y"] == 1e150
    assert found["suspects"][0]["evidence"] == [
        "outside reading_range, -2 to 2: false for certain, as you state"
    ]


def test_a_watched_study_shows_both_answers_the_suspects_and_what_is_believed(file):
    browser = client(source=StudyFile(file))
    assert browser.get("/api/studies").json() == {"names": ["lab.json"], "copies": []}
    found = looked(browser)
    assert found["t"] == list(range(1, 13))
    assert found["flagged"] == [LIE]
    assert found["naive"]["t"] == LIE
    assert found["naive"]["is_flagged"]
    assert abs(found["answer"]["params"]["x"] - 0.7) < 0.15
    assert "standard deviations above" in " ".join(found["suspects"][0]["evidence"])
    assert found["answer"]["price"]
    thought, proven = found["answer"]["left_to_gain"]
    assert thought.startswith("Left to gain (a heuristic): at most ")
    assert f"better by more than {found['answer']['regret_bound']:.4g}, if" in proven
    (line,) = found["sections"]
    assert line["axes"][0]["name"] == "x"
    assert len(line["mean"]) == len(line["lower"]) == len(line["axes"][0]["values"])


def test_what_was_seen_is_not_sent_again(file):
    browser = client(source=StudyFile(file))
    found = looked(browser)
    again = browser.get("/api/study", params={"name": "lab.json", "seen": found["number"]}).json()
    assert again == {"number": found["number"], "error": None, "is_behind": False}
    assert browser.get("/api/study?name=lab.json&seen=x").status_code == 400


def test_readings_that_another_process_tells_appear(file):
    browser = client(source=StudyFile(file))
    before = looked(browser)
    study = ub.Study.load(file)
    study.tell({"x": 0.7}, value(0.7))
    study.save(file)
    assert looked(browser, before["number"])["t"][-1] == 13


@pytest.mark.parametrize("is_unrelated", [True, False])
def test_a_retraction_is_kept_with_its_reason_and_does_to_the_guarantee_what_was_said(
    file, is_unrelated
):
    browser = client(source=StudyFile(file))
    before = looked(browser)
    sent = {"name": "lab.json", "t": LIE, "reason": "wrong sample", "unrelated_to_value": is_unrelated}
    assert browser.post("/api/retract", json=sent).status_code == 200
    after = looked(browser, before["number"])
    assert LIE not in after["t"]
    assert "wrong sample" in after["missing"][0]["error"]
    assert (after["answer"]["regret_bound"] is not None) == is_unrelated


BAD = {
    "no reason": {"reason": " "},
    "no words": {"reason": 5},
    "long": {"reason": "x" * 1001},
    "unknown round": {"t": 99},
    "no round": {"t": "5"},
    "no statement": {"unrelated_to_value": "yes"},
    "another study": {"name": "other.json"},
    "a path": {"name": "../lab.json"},
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_retraction_changes_nothing(file, case):
    before = file.read_bytes()
    sent = {"name": "lab.json", "t": LIE, "reason": "why", "unrelated_to_value": True, **BAD[case]}
    answer = client(source=StudyFile(file)).post("/api/retract", json=sent)
    assert answer.status_code in (400, 409)
    assert " must be " in answer.json()["error"]
    assert file.read_bytes() == before


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"x" * 20_000])
def test_what_is_no_retraction_is_refused(file, body):
    answer = client(source=StudyFile(file)).post("/api/retract", content=body)
    assert answer.status_code in (400, 413)


@pytest.mark.parametrize(
    "headers", [{"x-token": ""}, {"x-token": "wrong"}, {"origin": "http://elsewhere.example"}]
)
def test_without_token_or_from_elsewhere_a_study_is_neither_read_nor_changed(file, headers):
    browser, before = client(source=StudyFile(file)), file.read_bytes()
    sent = {"name": "lab.json", "t": LIE, "reason": "why", "unrelated_to_value": True}
    assert browser.get("/api/study?name=lab.json", headers=headers).status_code == 403
    assert browser.get("/api/studies", headers=headers).status_code == 403
    assert browser.post("/api/retract", json=sent, headers=headers).status_code == 403
    assert file.read_bytes() == before


def test_a_study_that_is_in_use_is_watched_but_not_changed(file):
    browser = client(source=StudyFile(file))
    sent = {"name": "lab.json", "t": LIE, "reason": "why", "unrelated_to_value": True}
    with ub.Study({"x": (0.0, 1.0)}, file=file):
        answer = browser.post("/api/retract", json=sent)
        assert looked(browser)["t"][-1] == 12
    assert answer.status_code == 409
    assert "one run at a time" in answer.json()["error"]


def test_a_file_that_is_gone_is_said_so_and_no_study_is_refused(file, tmp_path):
    browser = client(source=StudyFile(file))
    looked(browser)
    file.unlink()
    assert browser.get("/api/study?name=lab.json").status_code == 409
    (tmp_path / "text.json").write_text("{}")
    with pytest.raises(ValueError, match="must be a run saved"):
        StudyFile(tmp_path / "text.json")
    assert "there must be a study" in client().get("/api/study?name=x").json()["error"]


def test_an_error_while_working_out_is_shown_instead_of_the_study(file):
    watch = Watch(StudyFile(file))
    file.write_text("{}")
    for _ in range(200):
        found = watch.look("lab.json")
        if not found["is_behind"]:
            break
        time.sleep(0.01)
    assert "must be a run saved" in found["error"]


class Slow(StudyFile):
    """Holds changing state: whether its answers are kept back, and what goes wrong."""

    def __init__(self, path):
        super().__init__(path)
        self.may_answer, self.error = threading.Event(), None

    def answer(self, name, result):
        assert self.may_answer.wait(timeout=20.0)
        if self.error is not None:
            raise self.error
        return super().answer(name, result)


def test_readings_are_shown_at_once_and_the_answer_when_it_is_ready(file):
    source = Slow(file)
    browser = client(source=source)

    def seen(n):
        for _ in range(600):
            found = browser.get("/api/study?name=lab.json").json()
            if len(found.get("y", [])) == n:
                return found
            time.sleep(0.01)
        raise AssertionError("the readings were not shown in time")

    first = seen(12)
    assert "answer" not in first
    assert first["is_behind"]
    with ub.Study({"x": (0.0, 1.0)}, file=file) as study:
        study.tell({"x": 0.7}, value(0.7))
    second = seen(13)  # while the answer to the first twelve is still being worked out
    assert "answer" not in second
    assert second["is_behind"]
    source.may_answer.set()
    found = looked(browser, second["number"])
    assert found["answer"]["estimate"] is not None
    assert found["of"] == {"t": found["t"], "y": found["y"]}
    assert len(found["sections"][0]["axes"][0]["readings"]) == 13


def test_what_fails_because_something_is_out_of_reach_is_tried_again(file):
    source = Slow(file)
    browser = client(source=source)
    source.error = OSError("the database must be within reach")
    source.may_answer.set()
    for _ in range(600):
        found = browser.get("/api/study?name=lab.json").json()
        if found["error"]:
            break
        time.sleep(0.01)
    assert "within reach" in found["error"]
    source.error = None
    assert looked(browser)["error"] is None


def test_words_that_cannot_be_written_are_refused_and_hide_no_study(file):
    """Half of a pair of surrogates: JSON and Python allow it, UTF-8 does not."""
    browser = client(source=StudyFile(file))
    sent = b'{"name": "lab.json", "t": 5, "reason": "\\ud800", "unrelated_to_value": true}'
    answer = browser.post("/api/retract", content=sent)
    assert answer.status_code == 400
    assert "reason must be words that UTF-8 can write" in answer.json()["error"]
    with ub.Study({"x": (0.0, 1.0)}, file=file) as study:
        study.tell({"x": 0.5}, None, error="no file \udcff.txt")
    assert looked(browser)["missing"][-1]["error"] == "no file \udcff.txt"


def test_a_worst_case_that_is_not_guaranteed_is_not_called_so(file):
    browser = client(source=StudyFile(file))
    found = looked(browser)
    assert found["answer"]["is_guaranteed"]
    sent = {"name": "lab.json", "t": LIE, "reason": "too high", "unrelated_to_value": False}
    assert browser.post("/api/retract", json=sent).status_code == 200
    assert not looked(browser, found["number"])["answer"]["is_guaranteed"]


def test_axes_say_what_their_values_are(tmp_path):
    space = {"flow": ub.Real(0.5, 200.0, log=True), "pulses": (1, 9), "gas": ["Ar", "N2"]}
    with ub.Study(space, seed=1, file=tmp_path / "lab.json") as study:
        for k in range(4):
            study.tell(study.ask(), float(k))
    axes = [
        part["axes"][0] for part in looked(client(source=StudyFile(tmp_path / "lab.json")))["sections"]
    ]
    kinds = [(axis["is_log"], axis["is_whole"], axis["is_points"], axis["options"]) for axis in axes]
    assert kinds == [
        (True, False, False, None),
        (False, True, True, None),
        (False, False, True, ["Ar", "N2"]),
    ]
    assert axes[0]["values"][0] == 0.5


def test_what_is_shown_is_what_the_result_says(file):
    found, result = looked(client(source=StudyFile(file))), Result.load(file)
    assert found["answer"]["guarantee"] == result.recommendation.guarantee
    assert found["answer"]["estimate"] == result.estimate
    assert found["answer"]["price"] == str(result.price())
    assert found["answer"]["needs"] == needs(result.recommendation)
    part = found["worst_case"]
    rows = [tuple(row) for row in part["rows"]]
    assert rows == list(result.recommendation.lies.table(part["last"]))
    assert (part["least"], part["flagged"]) == (result.recommendation.lies.least, len(found["flagged"]))
    assert (part["allowed"], rows[part["allowed"] - part["least"]][1:]) == (
        result.recommendation.n_lies,
        (result.lower, result.upper),
    )
    assert part["worse"] == result.recommendation.clearly_worse
    assert "at once with probability at least 0.9" in part["words"]
    assert part["words"].endswith("if the fitted model is right.")


# --- files that are dropped --------------------------------------------------------------------


def dropped(browser, content, name="lab.json"):
    return browser.post("/api/watch", params={"name": name}, content=content)


def test_a_file_that_is_dropped_is_watched_as_it_was_and_nothing_is_retracted_in_it(file):
    browser = client()
    assert dropped(browser, file.read_bytes()).json() == {"name": "lab.json"}
    assert browser.get("/api/studies").json() == {"names": ["lab.json"], "copies": ["lab.json"]}
    before = looked(browser)
    assert before["flagged"] == [LIE]
    body = {"name": "lab.json", "t": LIE, "reason": "a test", "unrelated_to_value": True}
    answer = browser.post("/api/retract", json=body)
    assert answer.status_code == 400
    assert "must be retracted in the study itself" in answer.json()["error"]
    with ub.Study.load(file) as study:
        study.tell({"x": 0.71}, value(0.71))
        study.save(file)
    assert looked(browser) == before, "a copy"
    dropped(browser, file.read_bytes())
    assert looked(browser, after=before["number"])["t"][-1] == 13, "dropped again it is another"


def test_a_file_that_is_dropped_beside_the_study_of_the_page_has_another_name(file):
    browser = client(source=StudyFile(file))
    assert dropped(browser, file.read_bytes()).json() == {"name": "copy of lab.json"}
    found = browser.get("/api/studies").json()
    assert found == {"names": ["lab.json", "copy of lab.json"], "copies": ["copy of lab.json"]}
    assert looked(browser)["flagged"] == [LIE]


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "lab.json", "a study's file must be given"),
        (b"power,yield\n1,2\n", "furnace.csv", "a study's file must be given"),
        (b"SQLite format 3\x00\xff", "lab.db", "a study's file must be given"),
        (b"[1, 2]", "lab.json", "a study's file must be given"),
        (b"{}", "../lab.json", "without a path"),
        (b" " * 5_000_001, "lab.json", "at most 5000000 bytes"),
    ],
)
def test_what_is_no_study_is_refused_when_it_is_dropped(content, name, words):
    browser = client()
    answer = dropped(browser, content, name)
    assert answer.status_code in (400, 413)
    assert words in answer.json()["error"]
    assert "/tmp" not in answer.json()["error"]
    assert browser.get("/api/studies").json() == {"names": [], "copies": []}


def test_the_last_files_that_were_dropped_are_kept(file):
    browser = client()
    for k in range(10):
        dropped(browser, file.read_bytes(), f"{k}.json")
    assert browser.get("/api/studies").json()["names"] == [f"{k}.json" for k in range(2, 10)]
