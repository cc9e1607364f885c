"""How every figure is drawn: SVG with text as text, one style, the same bytes each time.

Colours are CSS variables with a fallback (``var(--figure-ink, #1f2328)``), so that a figure inside the page
follows its light or dark scheme; ``Figure.standalone`` fixes them for a file of its own or a ``data:`` address.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hazardmill.records import FrozenModel
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK: Final = "#1f2328"
MUTED: Final = "#5f6874"
GRID: Final = "#d9dee4"
PAPER: Final = "#ffffff"
BLUE: Final = "#0072b2"
ORANGE: Final = "#e69f00"
GREEN: Final = "#009e73"
PURPLE: Final = "#cc79a7"
SKY: Final = "#56b4e9"
VERMILION: Final = "#d55e00"

VARIABLES: Final = {
    "ink": INK,
    "muted": MUTED,
    "grid": GRID,
    "paper": PAPER,
    "blue": BLUE,
    "orange": ORANGE,
    "green": GREEN,
    "purple": PURPLE,
    "sky": SKY,
    "vermilion": VERMILION,
}
"""Name of the CSS variable (``--figure-NAME``) to its colour on white."""

SERIES: Final = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
"""Colours of series, told apart by colour-blind readers (Okabe and Ito's set, without yellow and black)."""

WIDTH: Final = 5.4
"""Inches. Narrow, so that text stays readable where a page scales the figure to a phone's width."""

WIDE: Final = 10.6
"""Inches of a figure that takes the whole width; a phone scrolls it."""

_FONT: Final = "system-ui, sans-serif"

# matplotlib types the names of its settings as one long Literal.
_STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titlepad": 10.0,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.handlelength": 1.0,
    "legend.handleheight": 1.0,
}


class Figure(FrozenModel):
    """A figure: inline SVG for a page, with the words for those who do not see it, and its numbers."""

    name: str
    title: str
    """What is counted, and n."""
    alt: str
    svg: str
    grid: Grid
    """The numbers behind it."""
    note: str | None = None
    """What is not in it, or not known."""
    wide: bool = False
    """Whether it takes the whole width of a page."""

    @property
    def standalone(self) -> str:
        """The SVG as a file of its own, on white, its colours fixed, with a size: else each page gives it another."""
        fixed = re.sub(r"var\(--figure-[a-z]+, (#[0-9a-f]{6})\)", r"\1", self.svg)
        _, _, width, height = fixed.split('viewBox="', 1)[1].split('"', 1)[0].split()
        size = " ".join(f'{name}="{float(side):g}pt"' for name, side in (("width", width), ("height", height)))
        return fixed.replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" {size} ', 1)

    @property
    def data_address(self) -> str:
        """The standalone SVG as a ``data:`` address for an image."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.standalone.encode()).decode()


def draw(
    name: str,
    title: str,
    alt: str,
    height: float,
    paint: Callable[[Axes], None],
    *,
    grid: Grid,
    note: str | None = None,
    wide: bool = False,
) -> Figure:
    """Draw one figure.

    Args:
        name: Short and unique in a page; prefixes the ids inside.
        title: Written above the axes; says what is counted, and n.
        alt: What the figure shows, in words.
        height: Inches.
        paint: Draws on the axes.
        grid: The numbers behind it; it takes the figure's title.
        note: What is not in it, or not known.
        wide: Whether it takes the whole width of a page.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context(), warnings.catch_warnings():
        # The reader's own fonts draw the text: that the measuring font lacks a sign only makes its width a guess.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # The reader's own matplotlibrc has no say.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_STYLE, "svg.hashsalt": name})
        canvas = Canvas(figsize=(WIDE if wide else WIDTH, height), layout="constrained", facecolor=PAPER)
        FigureCanvasSVG(canvas)
        axes = canvas.add_subplot()
        # On the figure, not on the axes: long row labels would push an axes title to the right.
        canvas.suptitle(blank_unprintable(title), x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        paint(axes)
        buffer = io.StringIO()
        canvas.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    # Whatever a painter let through: one sign that XML forbids, and the whole file cannot be read.
    written = "\n".join(map(blank_unprintable, buffer.getvalue().split("\n")))
    svg = _inline(written, name, alt, WIDE if wide else WIDTH, height)
    return Figure(name=name, title=title, alt=alt, svg=svg, grid=replace(grid, title=title), note=note, wide=wide)


def draw_empty(name: str, title: str, why: str, grid: Grid) -> Figure:
    """A figure that says that there is nothing to show."""

    def paint(axes: Axes) -> None:
        axes.set_axis_off()
        axes.text(0.5, 0.5, why, ha="center", va="center", color=MUTED, transform=axes.transAxes)

    return draw(name, title, f"{title}: {why}.", 1.4, paint, grid=grid)


def blank_unprintable(text: str) -> str:
    """Text without signs that an SVG file may not hold, or that nobody sees."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _inline(svg: str, name: str, alt: str, width: float, height: float) -> str:
    """The bare ``svg`` element: no prologue, no fixed size, ids of its own, colours as variables."""
    _, body = svg[svg.index("<svg ") :].rstrip().split(">", 1)
    box = f"0 0 {72 * width:g} {72 * height:g}"
    # In a page, this style of matplotlib's would hold for everything: the root says it instead.
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r"\bid=\"", f'id="{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = re.sub(r"(?:xlink:)?href=\"#", f'href="#{name}-', body)
    body = re.sub(r"'DejaVu Sans'(?:, [^;\"]*)?", _FONT, body)
    for variable, colour in VARIABLES.items():
        body = body.replace(colour, f"var(--figure-{variable}, {colour})")
    strokes = 'stroke-linejoin="round" stroke-linecap="butt"'
    return f'<svg viewBox="{box}" {strokes} role="img" aria-label="{_attribute(alt)}">{body}'


def _attribute(text: str) -> str:
    return (
        blank_unprintable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    )
