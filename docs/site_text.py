"""Text and pictures of the site that are kept elsewhere, and what is made of them."""

import json
import os
import re
import textwrap
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
KEPT = HERE / "kept"
"""Pages whose text is kept elsewhere: written anew before every build, and not into the repository."""

ELSEWHERE = {
    "contributing": "CONTRIBUTING.md",
    "changes": "CHANGELOG.md",
    "speed": "benchmarks/results.md",
    "stuck": "examples/stuck.ipynb",
    "mess": "examples/mess.ipynb",
    "attack": "examples/attack.ipynb",
}
"""Page in KEPT -> where its text is kept."""

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s:]+)(#[^)\s]*)?\)")
IMAGE = re.compile(r"(!\[[^\]]*\]\()([^)\s:]+)\)")

NIGHT = 0.078
"""Brightness of the site's ground in the dark, to which a white one is turned."""


WIDTH = 90
"""Characters of a printed line on the site."""


def folded(printed: str) -> str:
    """What was printed, in lines that the site has room for; tables stay as they are.

    A line that goes on in a deeper one, since it was too long for a terminal, is put together first.
    """
    lines: list[str] = []
    for line in printed.splitlines():
        if lines and len(lines[-1]) > WIDTH and _indent(line) > _indent(lines[-1]):
            lines[-1] += " " + line.lstrip()
        else:
            lines.append(line)
    return "\n".join(
        line
        if line[:1] in tuple("┏┃┡│└")
        else textwrap.fill(line, WIDTH, subsequent_indent=" " * (_indent(line) + 4))
        for line in lines
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def darken(source: Path, target: Path) -> None:
    """The picture with dark and light exchanged and every hue kept; white becomes NIGHT."""
    import numpy as np
    from PIL import Image

    with Image.open(source) as picture:
        colors = np.asarray(picture.convert("RGB"), dtype=np.float64) / 255.0
    light = colors @ [0.299, 0.587, 0.114]
    turned = (1.0 - light)[..., None] + (colors - light[..., None])
    whole = NIGHT + (1.0 - NIGHT) * np.clip(turned, 0.0, 1.0)
    Image.fromarray((255.0 * whole).round().astype(np.uint8)).save(target)


def led(text: str, folder: Path, docname: str) -> str:
    """The text, kept in `folder`, with every link and picture led to the site's, as seen from a page.

    A link to a file that has no page loses its target, and its words stay.
    """
    pages = {(ROOT / place).resolve(): KEPT / f"{name}.md" for name, place in ELSEWHERE.items()}

    def seen(file: Path) -> str:
        return os.path.relpath(file, (HERE / docname).parent)

    def link(match: re.Match[str]) -> str:
        words, target, anchor = match.groups()
        file = (folder / target).resolve()
        file = pages.get(file, file)
        if not file.is_relative_to(HERE):
            return words
        return f"[{words}]({seen(file)}{anchor or ''})"

    def image(match: re.Match[str]) -> str:
        return f"{match[1]}{seen((folder / match[2]).resolve())})"

    return LINK.sub(link, IMAGE.sub(image, text))


def as_page(notebook: str) -> str:
    """The cells of a notebook as a page whose code runs while the site is built."""
    parts = []
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```{{run}} python\n{source}\n```")
    return "\n\n".join(parts) + "\n"
