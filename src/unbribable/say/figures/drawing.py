"""How our figures look: sizes, colours that colour-blind readers tell apart, lines, legends, files."""

import functools
import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from unbribable.extras import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

COLUMN, PAGE = 3.4, 7.0
"""Widths of a figure in inches: one column, two columns."""
DPI = 200

# Okabe and Ito's palette without the yellow, which is too pale for a line on white.
BLACK, BLUE, ORANGE, GREEN, RED, SKY, PURPLE = (
    "#000000", "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7",
)  # fmt: skip
GREY = "#999999"

_COLOURS = (RED, BLUE, GREEN, PURPLE, ORANGE, SKY, BLACK)
_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

_STYLE: dict[str, Any] = {
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.0,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.4,
    "svg.fonttype": "none",  # words stay words
    "svg.hashsalt": "unbribable",  # the same figure is the same file
    "savefig.dpi": DPI,
    "figure.constrained_layout.h_pad": 0.04,
    "figure.constrained_layout.w_pad": 0.04,
}
"""What differs from matplotlib's defaults."""

P = ParamSpec("P")
R = TypeVar("R")


class Look(NamedTuple):
    """How one player is drawn, in every figure of a report."""

    colour: str
    line: Any
    marker: str


def require_matplotlib() -> Any:
    """The matplotlib package, or the error that says how to install it."""
    return needed("figures need", "matplotlib", "plot")


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Run the function under our style, whatever the user's own settings and labels are."""

    @functools.wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> R:
        matplotlib = require_matplotlib()
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_STYLE)
            drawn = draw(*args, **kwargs)
            _plain_where_broken(drawn)
            return drawn

    return in_style


def _plain_where_broken(drawn: Any) -> None:
    """Draw words as they are where their dollar signs do not enclose a valid formula."""
    from matplotlib.cbook import is_math_text
    from matplotlib.figure import Figure
    from matplotlib.mathtext import MathTextParser
    from matplotlib.text import Text

    if not isinstance(drawn, Figure):
        return
    parser = MathTextParser("path")
    for text in drawn.findobj(Text):
        for line in text.get_text().split("\n"):
            try:
                if is_math_text(line):
                    parser.parse(line)
            except (ValueError, RecursionError):
                text.set_parse_math(False)


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """A colour, line and marker for each label; no two labels share all three (up to 35)."""
    return {
        label: Look(_COLOURS[k % len(_COLOURS)], _LINES[k % len(_LINES)], _MARKERS[k % len(_MARKERS)])
        for k, label in enumerate(dict.fromkeys(labels))
    }


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure of this size in inches, which a notebook shows."""
    from unbribable.say.figures.notebook import ShownFigure

    return ShownFigure(figsize=(width, height), layout="constrained")


def panel_grid(
    n: int, *, height: float = 1.75, n_columns: int | None = None, width: float | None = None
) -> "tuple[Figure, list[Axes]]":
    """A figure with n panels: by default one in a column's width, several in a page's."""
    if n_columns is None:
        n_columns = 2 if n in (2, 4) else min(n, 3)
    n_rows = math.ceil(n / n_columns)
    height *= 1.15 if n_columns < 3 else 1.0
    figure = new_figure(width or (COLUMN if n == 1 else PAGE), height * n_rows)
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for unused in axes[n:]:
        unused.remove()
    return figure, axes[:n]


def label_outer(axes: "Sequence[Axes]", x: str, y: str) -> None:
    """Name the axes once per column, at the lowest panel, and once per row, at the left one."""
    spec = axes[0].get_subplotspec()
    assert spec is not None
    n_columns = spec.get_gridspec().ncols
    for k, ax in enumerate(axes):
        if k + n_columns >= len(axes):
            ax.set_xlabel(x)
        if k % n_columns == 0:
            ax.set_ylabel(y)


def add_height(figure: "Figure", n_lines: float) -> None:
    """Room for lines of text below the panels."""
    width, height = figure.get_size_inches()
    figure.set_size_inches(float(width), float(height) + 0.17 * n_lines)


def legend_below(
    figure: "Figure", handles: Sequence[Any], labels: Sequence[str], note: str = ""
) -> "Legend":
    """A legend under all panels, in as many columns as fit; the note says what lines and bands are."""
    width = float(figure.get_size_inches()[0])
    longest = max((len(label) for label in labels), default=0)
    fitting = max(1, min(len(labels), int((width - 0.1) / (0.55 + 0.058 * longest))))
    n_rows = math.ceil(len(labels) / fitting)
    n_columns = math.ceil(len(labels) / max(1, n_rows))
    title = wrapped(note, width)
    add_height(figure, n_rows + title.count("\n") + bool(title) + 0.5)
    legend = figure.legend(
        handles, labels, loc="outside lower center", ncols=n_columns, title=title or None
    )
    legend.get_title().set_multialignment("center")
    return legend


def named_once(
    figure: "Figure", axes: "Sequence[Axes]", note: str = "", order: Sequence[str] = ()
) -> None:
    """A legend below that names everything drawn in the panels once, the labels of `order` first."""
    handles: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    rank = {label: k for k, label in enumerate(order)}
    labels = sorted(handles, key=lambda label: rank.get(label, len(rank)))
    legend_below(figure, [handles[label] for label in labels], labels, note)


def wrapped(text: str, inches: float) -> str:
    """The text broken into lines that fit into the width at 8 pt; never around an equals sign."""
    limit = max(10, int(inches / 0.06))
    parts = text.replace(" = ", "\u00a0=\u00a0").split("\n")
    lines = [textwrap.fill(part, limit, break_long_words=False) for part in parts]
    return "\n".join(lines).replace("\u00a0", " ")


def round_axis(ax: "Axes", T: int) -> None:
    """Ticks of an axis of rounds 1..T."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlim(0, T)
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


@styled
def save(figure: "Figure", path: str | Path) -> list[Path]:
    """Write PATH.png (200 dpi) and PATH.svg (a suffix .png or .svg is dropped); returns both."""
    path = Path(path)
    if path.suffix in (".png", ".svg"):
        path = path.with_suffix("")
    path.parent.mkdir(parents=True, exist_ok=True)
    png, svg = (path.with_name(f"{path.name}.{kind}") for kind in ("png", "svg"))
    figure.savefig(png, metadata={"Software": None})
    engine = figure.get_layout_engine()
    figure.set_layout_engine("none")  # the layout is found: once is enough
    figure.savefig(svg, metadata={"Date": None, "Creator": "unbribable"})
    figure.set_layout_engine(engine)
    return [png, svg]
