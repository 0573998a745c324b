"""README's picture of its example is of the example as it is printed."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
IN_WORDS = ("None", "One", "Two", "Three", "Four", "Five", "Six")


def numbers(text):
    return [float(each) for each in NUMBER.findall(text.replace("−", "-"))]


def caption(name="history"):
    """The text of the legend, kept in the picture's file."""
    image = pytest.importorskip("PIL.Image")
    with image.open(ROOT / f"docs/images/{name}.png") as picture:
        return picture.text["Description"]


def worst_case_printed():
    """How many lies the last interval in README's example is for, and its ends."""
    found = re.search(
        r"worst case: (?:[^()]*, (\d+) lies )?(\S+ to \S+) \((?:.*? if at most (\d+) of the)?",
        " ".join(README.split()),
    )
    return found[1] or found[3], found[2]


def test_the_caption_of_the_picture_names_what_the_worst_case_printed_supposes():
    printed = " ".join(README.split())
    n_lies, _ = worst_case_printed()
    assert f"the interval holds if at most {n_lies} of the 30 readings" in caption()
    needs = re.search(r"(f\(x\) < \S+) would need (at least \d+) false readings of \d+", printed)
    assert f"; {needs[1]} needs {needs[2]} lies; " in caption("worst_case")
    assert f"worst case as printed, for {n_lies}; " in caption("worst_case")


@pytest.mark.long
def test_the_picture_and_the_words_under_it_are_those_of_the_example(monkeypatch):
    pytest.importorskip("matplotlib")
    import unbribable as ub
    from unbribable.say.figures.run import history

    monkeypatch.syspath_prepend(ROOT / "docs")
    pictures = __import__("pictures")
    try:
        run = pictures.example()
    finally:
        del sys.modules["pictures"]
    for name in ("history", "worst_case"):
        legend = pictures.legend(getattr(ub, f"plot_{name}")(run))
        assert NUMBER.sub("#", legend) == NUMBER.sub("#", caption(name))
        assert numbers(legend) == pytest.approx(numbers(caption(name)), rel=0.05)
    words = " ".join(README.split())
    assert numbers(worst_case_printed()[1]) == pytest.approx([run.lower, run.upper], rel=1e-3)
    said = re.search(
        r"!\[The thirty readings in order\. (\w+) are marked as suspicious\. The best reading so far is "
        r"a lie from round (\d+) on; the value to expect at the recommended point comes up to (\d+) "
        r"in round (\d+) and stays there\.\]\(docs/images/history\.png\)",
        words,
    )
    n_flagged, first_lie, level, settled = said.groups()
    assert len(run.trials) == 30
    assert run.n_suspects == IN_WORDS.index(n_flagged)
    y = np.array([trial.y for trial in run.trials])
    assert int(np.argmax(y == y.max())) + 1 == int(first_lie)
    assert run.naive.t in {each.t for each in run.suspects if each.is_flagged}
    means = {check.t: check.mean for check in history(run)}
    is_there = {t: abs(mean - float(level)) < 0.2 for t, mean in means.items()}
    assert all(is_there[t] for t in means if t >= int(settled))
    assert not is_there[int(settled) - 1]
    said = re.search(
        r"number of lies among the thirty readings\. Fewer than (\d+) are excluded\. With (\d+), as "
        r"many as look false, f is between (\S+) and (\S+) there; with (\d+) it is still above (\S+); "
        r"it takes (\d+) for f to be below (\S+)\.\]\(docs/images/worst_case\.png\)",
        words,
    )
    least, flagged, low, high, more, above, needed, below = map(float, said.groups())
    assert (least, flagged) == (run.recommendation.lies.least, run.n_suspects)
    assert [low, high] == pytest.approx(run.worst_case(run.n_suspects), rel=0.01)
    assert above == pytest.approx(run.worst_case(int(more))[0], rel=0.01)
    assert (needed, below) == (run.recommendation.n_needed, run.recommendation.clearly_worse)
    assert more == needed - 1
