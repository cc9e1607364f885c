"""Parts of a Sankey diagram: bands from one step to the next, and labels of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hazardmill.reporting.svg.drawing import blank_unprintable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_band(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], thick: float, colour: str, alpha: float
) -> None:
    """Draw a curved band that is horizontal at both ends.

    Args:
        axes: The axes; y grows downwards.
        start: Upper left corner, x and y, where the band leaves.
        end: Upper right corner, where it arrives.
        thick: Height of the band, in the unit of y.
        colour: Its colour.
        alpha: Its opacity, from 0 to 1.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (left, a), (right, b) = start, end
    middle = (left + right) / 2
    corners = [
        (left, a), (middle, a), (middle, b), (right, b),
        (right, b + thick), (middle, b + thick), (middle, a + thick), (left, a + thick),
        (left, a),
    ]  # fmt: skip
    curve = [Path.CURVE4] * 3
    codes = [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(corners, codes), facecolor=colour, alpha=alpha, linewidth=0))


def shorten_label(name: str, longest: int) -> str:
    """Return the name of a node, cut to a length.

    Args:
        name: The name; characters that are not printable become blanks.
        longest: Most characters; a longer name ends in " ...".
    """
    name = blank_unprintable(name)
    return name if len(name) <= longest else f"{name[: longest - 4].rstrip()} ..."
