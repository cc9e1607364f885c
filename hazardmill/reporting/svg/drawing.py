"""Draw figures as SVG: text stays text, all share one style, and the same data give the same bytes.

Colours are CSS variables with a fallback (``var(--figure-ink, #1f2328)``), so that a figure inside a page follows the
light or dark scheme of the page. ``Figure.standalone`` fixes the colours for a separate file or a ``data:`` address.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import ExtraMissing
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
"""CSS variables (``--figure-NAME``) by name, with their colours on white."""

SERIES: Final = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
"""Colours of series that colour-blind readers can distinguish (the set of Okabe and Ito, without yellow and black)."""

WIDTH: Final = 5.4
"""Width of a figure in inches: narrow, so that text stays readable where a phone scales the figure down."""

WIDE: Final = 10.6
"""Width, in inches, of a figure that takes the whole page; on a phone it is scrolled sideways."""

_FONT: Final = "system-ui, sans-serif"

# Any, because matplotlib types the names of its settings as one long Literal.
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
    """A drawn figure: SVG for a page, a description for those who cannot see it, and the numbers behind it.

    Attributes:
        name: Short name, unique on a page; it prefixes all ids in the SVG.
        title: Says what is counted, and n.
        alt: What the figure shows, in words.
        svg: The bare ``svg`` element, without a size and with colours as CSS variables.
        grid: The numbers behind the figure.
        note: What the figure leaves out, or what is not known; null if there is nothing to add.
        wide: Whether it takes the whole width of a page.
        lacks: What is missing that the figure would be drawn from; null for a figure that has data.
    """

    name: str
    title: str
    alt: str
    svg: str
    grid: Grid
    note: str | None = None
    wide: bool = False
    lacks: str | None = None

    @property
    def standalone(self) -> str:
        """The SVG as a separate file: on white, with fixed colours, and with a size."""
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
    """Draw a figure with matplotlib, in the shared style whatever the reader's ``matplotlibrc`` says.

    Args:
        name: Short name, unique on a page; it prefixes the ids inside, and seeds them.
        title: Written above the axes; says what is counted, and n.
        alt: What the figure shows, in words.
        height: Height in inches; the width is ``WIDTH`` or ``WIDE``.
        paint: Draws on the axes that it is given.
        grid: The numbers behind the figure; its title is replaced by the figure's.
        note: What the figure leaves out, or what is not known.
        wide: Whether it takes the whole width of a page.

    Returns:
        The figure, with its SVG ready to stand inside a page.
    """
    svg = _draw_svg(name, title, alt, height, paint, WIDE if wide else WIDTH)
    return Figure(name=name, title=title, alt=alt, svg=svg, grid=replace(grid, title=title), note=note, wide=wide)


def _draw_svg(name: str, title: str, alt: str, height: float, paint: Callable[[Axes], None], width: float) -> str:
    """Return the inline SVG of a figure; ``height`` and ``width`` are in inches."""
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise ExtraMissing("a figure needs matplotlib, which is not installed", extra="mill") from error

    with matplotlib.rc_context(), warnings.catch_warnings():
        # The reader's fonts draw the text. A glyph that is missing here only makes its width a guess.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # Ignore the matplotlibrc of whoever runs this.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_STYLE, "svg.hashsalt": name})
        canvas = Canvas(figsize=(width, height), layout="constrained", facecolor=PAPER)
        # Matplotlib does not type what it prints with. `savefig` would go through the whole figure once more.
        svg: Any = FigureCanvasSVG(canvas)
        axes = canvas.add_subplot()
        # On the figure, not on the axes: long names of rows would push a title of the axes to the right.
        canvas.suptitle(blank_unprintable(title), x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        paint(axes)
        buffer = io.StringIO()
        svg.print_svg(buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    # A single character that XML forbids would make the whole file unreadable, whoever let it through.
    written = "\n".join(map(blank_unprintable, buffer.getvalue().split("\n")))
    return _inline(written, name, alt, width, height)


def draw_empty(name: str, title: str, why: str, grid: Grid) -> Figure:
    """Return a figure that says that there is nothing to show.

    Args:
        name: As for ``draw``.
        title: As for ``draw``.
        why: Why there is nothing, written in its middle.
        grid: The numbers behind the figure, as far as there are any.
    """

    def paint(axes: Axes) -> None:
        axes.set_axis_off()
        axes.text(0.5, 0.5, why, ha="center", va="center", color=MUTED, transform=axes.transAxes)

    return draw(name, title, f"{title}: {why}.", 1.4, paint, grid=grid)


def blank_unprintable(text: str) -> str:
    """Return text with a blank for each character that is not printable.

    An SVG file may not hold some of them, and nobody sees the others. Line ends become blanks too.
    """
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)


def _inline(svg: str, name: str, alt: str, width: float, height: float) -> str:
    """Return the bare ``svg`` element: no prologue, no fixed size, prefixed ids, colours as variables."""
    _, body = svg[svg.index("<svg ") :].rstrip().split(">", 1)
    box = f"0 0 {72 * width:g} {72 * height:g}"
    # Inside a page, matplotlib's style element would apply to everything: the root element carries it instead.
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
