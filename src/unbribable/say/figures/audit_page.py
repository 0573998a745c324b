"""The page of an audit: one self-contained piece of HTML, to be sent to a colleague."""

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.auditing.table import ranges
from unbribable.model.checks import Floats
from unbribable.say import words
from unbribable.say.audit import SOLVER
from unbribable.say.figures.belief import axes_of
from unbribable.say.figures.drawing import styled
from unbribable.say.figures.scatter import scatter
from unbribable.say.guarantee import whole
from unbribable.say.price import price as price_words
from unbribable.say.price import sentence as price_sentence
from unbribable.say.proof import of as proven_of
from unbribable.say.recommendation import WIDE, needs
from unbribable.say.remarks import caution, in_short
from unbribable.say.worst_case import MEANING
from unbribable.study.engine import Engine
from unbribable.study.space import Space

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unbribable.auditing.audit import Audit

N_COLUMNS = 4
"""Parameters that have a column each, at most; of more, the table has one column for all."""

N_ALONG = 41
"""Points along a parameter where the model is looked at."""

_STYLE = """
.audit{--ink:#1b1b1b;--soft:#5c5c5c;--rule:#d5d5d2;--paper:#fff;--wash:#f6f6f3;--false:#b3400a;
 --good:#00609a;color:var(--ink);background:var(--paper);max-width:50rem;margin:0 auto;
 font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;padding:1.5rem 1.1rem 3rem;
 overflow-wrap:break-word}
@media(prefers-color-scheme:dark){.audit{--ink:#e8e8e4;--soft:#a5a5a0;--rule:#3d3d3b;--paper:#161616;
 --wash:#212120;--false:#f08a4b;--good:#6cb8ea}}
.audit h1{font-size:1.05rem;font-weight:600;margin:0;color:var(--soft)}
.audit .lead{font-size:1.7rem;line-height:1.25;font-weight:650;margin:.35rem 0 .6rem}
.audit .use{font-size:1.12rem;margin:.2rem 0}
.audit h2{font-size:1.12rem;margin:2.3rem 0 .5rem}
.audit p{margin:.45rem 0}
.audit .soft{color:var(--soft);font-size:.92rem}
.audit .false{color:var(--false)}.audit .good{color:var(--good)}
.audit table{border-collapse:collapse;width:100%;font-size:.93rem;font-variant-numeric:tabular-nums;
 border-top:1.5px solid var(--ink);border-bottom:1.5px solid var(--ink);background:none;margin:.6rem 0}
.audit th,.audit td{padding:.38rem .8rem .38rem 0;text-align:left;vertical-align:top;background:none;
 color:inherit}
.audit th:last-child,.audit td:last-child{padding-right:0}
.audit thead th{border-bottom:1px solid var(--ink);font-weight:600}
.audit tbody tr+tr>*{border-top:1px solid var(--rule)}
.audit tbody th{font-weight:500;white-space:nowrap}
.audit .wide{overflow-x:auto}
.audit figure{margin:1rem 0}
.audit figcaption{font-size:.9rem;color:var(--soft);margin-top:.35rem}
.audit svg{display:block;width:100%;max-width:36rem;height:auto}
.audit .picture{background:#fff;border-radius:6px;padding:.5rem;overflow-x:auto}
.audit .picture img{display:block;min-width:34rem;width:100%;height:auto}
.audit pre{background:var(--wash);color:inherit;border-radius:6px;padding:.75rem .9rem;overflow-x:auto;
 font:.86rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.audit ul{padding-left:1.2rem;margin:.45rem 0}
@media(max-width:36rem){.audit .lead{font-size:1.4rem}
 .audit .cards thead{display:none}.audit .cards tr{display:block;padding:.5rem 0}
 .audit .cards td,.audit .cards th{display:block;padding:.05rem 0;border:0!important}
 .audit .cards tr+tr{border-top:1px solid var(--rule)}
 .audit .cards td::before{content:attr(data-name) " ";color:var(--soft)}
 .audit .cards th::before{content:"reading "}}
"""


def page(audit: "Audit") -> str:
    """A whole document."""
    title = escape(_title(audit))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>@media(prefers-color-scheme:dark){{body{{background:#161616}}}}"
        f"body{{margin:0}}</style>\n</head>\n<body>\n{fragment(audit)}\n</body>\n</html>\n"
    )


def fragment(audit: "Audit") -> str:
    """The same as a part of a page, for notebooks."""
    parts = [
        f"<style>{_STYLE}</style>",
        *_headline(audit),
        *_suspects(audit),
        *_answers(audit),
        *_lying(audit),
        *_model(audit),
        *_way_on(audit),
        *_limits(audit),
    ]
    return '<div class="audit">\n' + "\n".join(parts) + "\n</div>"


# --- the sections --------------------------------------------------------------------------------


def _headline(audit: "Audit") -> Iterable[str]:
    best, plan = audit.recommendation, audit.result.engine.plan
    yield f"<h1>{escape(_title(audit))}</h1>"
    yield f'<p class="lead">{escape(audit.verdict)}</p>'
    assert best.estimate is not None
    assert best.estimate_sd is not None
    expected = _near(best.estimate, best.estimate_sd)
    goal = "highest" if plan.sign > 0.0 else "lowest"
    yield (
        f'<p class="use">Use <b class="good">{escape(_place(audit, best.x))}</b>: '
        f"expect a {escape(audit.target)} of <b>{expected}</b>.</p>"
    )
    naive = audit.naive
    if naive.t in {suspect.t for suspect in audit.suspects}:
        yield (
            f'<p class="use">The {goal} reading, <b class="false">{naive.y:.4g}</b> at '
            f"{escape(_place(audit, naive.x))}, looks false: do not rely on it.</p>"
        )
    for each in best.cautions:
        yield f"<p>{escape(caution(each))}</p>"
    if audit.proof is not None and audit.proof.total > 0.0:
        yield f"<p>{escape(str(audit.proof))}</p>"


def _suspects(audit: "Audit") -> Iterable[str]:
    yield "<h2>Which readings look false</h2>"
    if audit.suspects:
        names = list(audit.result.space.params(audit.suspects[0].x) or {})
        is_split = 0 < len(names) <= N_COLUMNS
        head = [
            "reading",
            *(names if is_split else ["where"]),
            "read",
            "expected",
            "what speaks against it",
        ]
        rows = []
        for each in audit.suspects:
            params = audit.result.space.params(each.x) or {}
            where = (
                [words.digits(params[name]) for name in names] if is_split else [_place(audit, each.x)]
            )
            against = "; ".join(audit.against(each)).replace("+-", "±")
            rows.append(
                [
                    _number(audit, each.t),
                    *where,
                    f"{each.y:.4g}",
                    _near(each.expected, each.expected_sd),
                    against,
                ]
            )
        yield _table(head, rows, "cards")
    else:
        yield (
            "<p>None is more likely a lie than not. With few readings for so many parameters much is "
            "possible, and lies can hide.</p>"
        )
    yield (
        f"<figure>{scatter(audit.result.suspects, audit.label)}<figcaption>Every reading against what "
        "the others predict in its place. Honest readings lie near the dashed line; crosses, with "
        "their numbers, look false, and those at the edge lie beyond it.</figcaption></figure>"
    )
    yield (
        '<p class="soft">A flag is a heuristic: by what the other readings say, this one is more likely '
        "a lie than not. Look at the record of these measurements before you call them wrong. Nothing "
        "was deleted.</p>"
    )


def _answers(audit: "Audit") -> Iterable[str]:
    best, naive = audit.recommendation, audit.naive
    by_t = {suspect.t: suspect for suspect in audit.result.suspects}
    assert best.estimate is not None
    assert best.estimate_sd is not None
    assert naive.y is not None
    at_best = [
        f"{trial.y:.4g}"
        for trial in audit.result.trials
        if trial.y is not None and np.allclose(trial.x, best.x, rtol=1e-9, atol=1e-12)
    ]
    others = by_t[naive.t]
    rows = [
        ("where", _place(audit, best.x), _place(audit, naive.x)),
        ("read there", ", ".join(at_best) or "nothing yet", f"{naive.y:.4g}"),
        (
            "to be expected",
            _near(best.estimate, best.estimate_sd),
            _near(others.expected, others.expected_sd) + " by the other readings",
        ),
        ("worst case", _interval(audit), "–"),
    ]
    yield "<h2>What to use, and what believing every reading would give</h2>"
    yield _table(("", "this audit", "best reading"), rows)
    wide = [f"This is {WIDE}."] if best.is_wide else []
    said = needs(best, audit.target)
    for remark in ([f"{said}."] if said else []) + [*wide, *(in_short(each) for each in best.remarks)]:
        yield f"<p>{escape(remark)}</p>"
    yield _picture(
        audit,
        "plot_worst_case",
        "The worst case against the number of lies",
        f"What {audit.target} can be at the point to use, by the number of false readings; the value to "
        f"expect is an estimate. {MEANING}",
        what=audit.target,
    )
    yield f'<p class="soft">{escape(whole(best, audit.counting))}</p>'
    yield "<h2>What it would take to change the answer</h2>"
    price = audit.price()
    yield f"<p>{escape(price_words(price, audit.counting))}</p>"
    if price.value is None and price.least_eps:
        yield f"<p>{escape(price_sentence(audit.price(1.5 * price.least_eps), audit.counting))}</p>"


def _lying(audit: "Audit") -> Iterable[str]:
    yield "<h2>How much lying there must have been</h2>"
    proof = audit.proof
    if proof is None:
        yield f"<p>{escape(SOLVER)}</p>"
        return
    yield f"<p>{escape(str(proof))}</p>"
    if not proof.is_refuted:
        proven = [
            f"{audit.label(t)} is {proven_of(proof, t)}" for t in (*proof.lies, *proof.lies_within)
        ]
        for sentence in dict.fromkeys(proven):
            yield f"<p>{escape(sentence[0].upper() + sentence[1:])}.</p>"
        if not proven and proof.asked:
            yield "<p>Of no single reading is it proven: other readings could be the false ones.</p>"
        if len(proof.asked) < len(audit.suspects):
            yield f"<p>Of {len(proof.asked)} suspicious readings it was tried to prove it.</p>"
    yield (
        '<p class="soft">The total is certified by a convex program: the smallest sum of |lies| with '
        "which some function as smooth as the model allows, and noise of the assumed size, give these "
        f"readings. It fails with probability at most {1.0 - proof.probability:.3g}, beside that of the "
        "worst case above.</p>"
    )


def _model(audit: "Audit") -> Iterable[str]:
    engine, space = audit.result.engine.settled(), audit.result.space
    assert engine is not None
    typical, moved = engine.judge().typical(), _moved(engine, space, audit.recommendation.x)
    center = engine.plan.sign * typical.center
    values = ranges(space)
    yield "<h2>The model, and how it was found</h2>"
    rows = [(name, values[name], f"{move:.3g}") for name, move in moved.items()]
    yield _table(("parameter", "values", "moves the value by"), rows)
    how = "Kernel, noise and range were given."
    if engine.plan.fitted:
        how = (
            f"{', '.join(engine.plan.fitted)} were fitted, together with the verdicts: many "
            "hypotheses about the function and the lies, as likely as the readings make them."
        )
    yield (
        "<p>Noise of a reading: about "
        f"{typical.noise_std:.3g} (standard deviation). The value varies around {center:.4g} by about "
        f"{typical.scale:.3g}. "
        f"{escape(how[0].upper() + how[1:])}</p>"
    )
    for note in audit.notes:
        yield f"<p>{escape(note)}</p>"
    yield _picture(
        audit,
        "plot_posterior",
        "The model along each parameter",
        "The model through the point to use: estimate and readings along each parameter, the others "
        "kept.",
    )
    yield (
        '<details class="soft"><summary>What the guarantees rest on</summary><p>'
        f"{escape(str(audit.assumptions))}</p></details>"
    )


def _way_on(audit: "Audit") -> Iterable[str]:
    yield "<h2>How to go on</h2>"
    yield "<p>Measure the suspicious points again, or let a study choose the next ones from here:</p>"
    source = repr(Path(audit.name).name) if audit.name else "..."
    goal = "" if audit.result.engine.plan.sign > 0.0 else ', direction="minimize"'
    code = (
        "import unbribable as ub\n\n"
        f"audit = ub.audit({source}, target={audit.target!r}{goal})\n"
        'study = audit.study(file="study.json")\n'
        "query = study.ask()             # query.params: where to measure next\n"
        "study.tell(query, 0.93)         # what you read there\n"
        "print(study.recommend())"
    )
    yield f"<pre>{escape(code)}</pre>"


def _limits(audit: "Audit") -> Iterable[str]:
    yield "<h2>Limits</h2>"
    yield (
        "<ul><li>Lies that agree with each other and outnumber the truth around them cannot be told "
        "from it.</li><li>A parameter that is not in the table makes honest readings look false.</li>"
        "<li>Kernel, noise and range were fitted to these very readings unless they were given; what is "
        "called certain is so only if they are right.</li><li>Small lies, of a few times the noise, go "
        "unnoticed, and also matter little.</li></ul>"
    )
    yield '<p class="soft">Made by unbribable.</p>'


# --- parts ---------------------------------------------------------------------------------------


def _title(audit: "Audit") -> str:
    of = f" of {Path(audit.name).name}" if audit.name else ""
    goal = "maximised" if audit.result.engine.plan.sign > 0.0 else "minimised"
    return f"Audit{of}: {audit.target}, {goal}"


def _place(audit: "Audit", x: Floats) -> str:
    params = audit.result.space.params(x)
    if params is None:
        return words.point(x)
    return ", ".join(f"{name} = {words.digits(value)}" for name, value in params.items())


def _interval(audit: "Audit") -> str:
    best = audit.recommendation
    if best.lower is None or best.upper is None:
        return "none: the readings contradict the model"
    return f"{best.lower:.4g} to {best.upper:.4g}"


def _number(audit: "Audit", t: int) -> str:
    """The number of a reading, and where it stands."""
    return audit.counting.numbered(t)


def _near(mean: float, sd: float) -> str:
    return words.plus_minus(mean, sd).replace(" +- ", "\u00a0±\u00a0")


def _moved(engine: Engine, space: Space, x: Floats) -> dict[str, float]:
    """Name -> by how much the estimate changes along that parameter, the others as at x."""
    u = engine.u_of(x)
    moved = {}
    for axis in axes_of(space, N_ALONG):
        U = np.repeat(u[None], len(axis.values), axis=0)
        U[:, axis.part] = axis.blocks
        moved[axis.name] = float(np.ptp(engine.predict(U)[0]))
    return moved


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = []
    for first, *rest in rows:
        cells = "".join(
            f'<td data-name="{escape(name)}">{escape(cell)}</td>'
            for name, cell in zip(head[1:], rest, strict=True)
        )
        lines.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>')
    body = "\n".join(lines)
    return (
        f'<div class="wide"><table class="{kind}"><thead><tr>{top}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _picture(audit: "Audit", name: str, alt: str, caption: str, **words: Any) -> str:
    """A figure of the audit, where it can be drawn."""
    try:
        from unbribable.say.figures import plots

        figure = getattr(plots, name)(audit.result, **words)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        return f'<p class="soft">{escape(str(error))}</p>'
    code = base64.b64encode(_svg(figure)).decode()
    return (
        f'<figure><div class="picture"><img alt="{escape(alt)}" '
        f'src="data:image/svg+xml;base64,{code}"></div><figcaption>{escape(caption)}</figcaption></figure>'
    )


@styled
def _svg(figure: "Figure") -> bytes:
    """The figure, its words drawn as shapes: the reader may not have the font."""
    import matplotlib

    matplotlib.rcParams["svg.fonttype"] = "path"
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "unbribable"})
    return out.getvalue()
