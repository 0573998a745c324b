"""Panels of beliefs: from a record, checked, and drawn like the paper's Figure 1."""

import numpy as np
import pytest

from report.hand_made import record
from unbribable.report import plots
from unbribable.report.posterior_panel import PosteriorPanel, local_maximiser, posterior_panel


def a_record():
    game = record([0.0, 0.5, 1.0])
    game.columns["index"] = np.array([2, 0, 1])
    game.columns["c"] = np.array([0.0, -0.5, 0.0])
    game.columns["y_tilde"] = np.array([1.0, 2.0, 3.0])
    game.meta["best"] = 0
    return game


def test_a_panel_holds_the_first_readings_in_the_order_of_the_line():
    X, f = np.array([[1.0], [0.0], [0.5]]), np.array([3.0, 1.0, 2.0])
    panel = posterior_panel(a_record(), X=X, f=f, mu=f + 1.0, width=np.ones(3), t=2)
    assert panel.x.tolist() == [0.0, 0.5, 1.0]
    assert panel.f.tolist() == [1.0, 2.0, 3.0]
    assert panel.mu.tolist() == [2.0, 3.0, 4.0]
    assert panel.readings_x.tolist() == [0.5, 1.0]
    assert panel.readings_y.tolist() == [1.0, 2.0]
    assert panel.is_corrupted.tolist() == [False, True]
    assert (panel.x_star, panel.x_local, panel.t, panel.title) == (1.0, None, 2, "GP-UCB")


def test_the_local_maximiser_is_the_highest_peak_besides_the_maximum():
    f = np.array([0.0, 2.0, 1.0, 3.0, 0.0, 5.0])
    assert local_maximiser(np.arange(6.0), f) == 3.0
    assert local_maximiser(np.arange(3.0), np.array([0.0, 1.0, 0.0])) is None


BAD = [
    ({"X": np.zeros((3, 2))}, r"X must be candidates on a line, .* got shape \(3, 2\)"),
    ({"t": 4}, "t must be 1..3, the rounds of the record, got t=4"),
    ({"mu": np.zeros(2)}, r"mu must have one value a candidate, \(3,\), got shape \(2,\)"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_a_panel_refuses_what_does_not_fit(words, message):
    given = {"X": np.arange(3.0), "f": np.zeros(3), "mu": np.zeros(3), "width": np.zeros(3), **words}
    with pytest.raises(ValueError, match=message):
        posterior_panel(a_record(), **given)


def test_plain_arrays_are_checked():
    x = np.arange(3.0)
    with pytest.raises(ValueError, match=r"f must have shape \(3,\) like x, got shape \(2,\)"):
        PosteriorPanel(x=x, f=x[:2])
    with pytest.raises(ValueError, match="mu and width must be given together"):
        PosteriorPanel(x=x, f=x, mu=x)
    with pytest.raises(ValueError, match="must have one shape"):
        PosteriorPanel(x=x, f=x, readings_x=x)


def a_panel(title):
    x = np.linspace(0.0, 1.0, 50)
    f = np.sin(6.0 * x)
    return PosteriorPanel(
        x=x, f=f, mu=0.9 * f, width=np.full(50, 0.3), readings_x=x[::10], readings_y=f[::10],
        is_corrupted=np.arange(5) == 2, title=title, region=(0.1, 0.4), x_star=0.26, x_local=0.9, t=50,
    )  # fmt: skip


def test_figure_1_puts_the_function_in_front(tmp_path):
    panels = {"a": a_panel("GP-UCB"), "b": a_panel("RobustGPUCB")}
    figure = plots.figure_1(panels, tmp_path / "figure_1.png")
    assert [ax.get_title() for ax in figure.axes] == [
        "the function", "GP-UCB, t = 50", "RobustGPUCB, t = 50",
    ]  # fmt: skip
    words = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"f", "clean reading", "corrupted reading", "posterior mean", "band: mean ± width"} <= words
    assert any("x*" in word for word in words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure_1.png", "figure_1.svg"]


def test_figure_1_takes_a_panel_of_the_function_as_given(tmp_path):
    x = np.linspace(0.0, 1.0, 5)
    panels = {"mine": PosteriorPanel(x=x, f=x), "b": a_panel("")}
    figure = plots.figure_1(panels)
    assert [ax.get_title() for ax in figure.axes] == ["mine", "b, t = 50"]
    with pytest.raises(ValueError, match="panels must hold at least one panel, got none"):
        plots.figure_1({})


def test_the_same_figure_is_the_same_file(tmp_path):
    for folder in ("one", "two"):
        plots.figure_1({"a": a_panel("GP-UCB")}, tmp_path / folder / "figure")
    for kind in ("png", "svg"):
        one, two = ((tmp_path / folder / f"figure.{kind}").read_bytes() for folder in ("one", "two"))
        assert one == two
