"""Both UIs of a Prefect server in a browser, and pictures of them for the documentation."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from patience import PATIENCE_S
from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

UIS: Final = {"v1": "", "v2": "/v2"}
"""UI to the path below which the server has it."""
SHOWN_MS: Final = PATIENCE_S * 1000
_SCREENSHOTS: Final = "HAZARDMILL_SCREENSHOTS"


def open_ui(
    browser: Browser,
    address: str,
    ui: str,
    *,
    size: tuple[int, int] = (1280, 900),
    scheme: Literal["light", "dark"] = "light",
) -> BrowserContext:
    """A context of the browser, as of a person who chose this UI last."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    # Without it, an address may lead to the other one.
    context.add_cookies([{"name": "prefect_ui_version", "value": ui, "url": address}])
    return context


def keep_page(tab: Page, name: str) -> None:
    """Write a picture of a whole page, if somebody asks for pictures."""
    if _SCREENSHOTS in os.environ:
        # The page scrolls within: a window as tall as what is in it shows all of it.
        tallest = tab.evaluate("Math.max(...[...document.querySelectorAll('*')].map(part => part.scrollHeight))")
        tab.set_viewport_size({"width": 1280, "height": min(tallest + 100, 4000)})
        keep_picture(Image.open(io.BytesIO(tab.screenshot())).convert("RGB"), name, colours=192)


def keep_picture(picture: Image.Image, name: str, colours: int = 128) -> None:
    """Write a picture, if somebody asks for pictures."""
    folder = os.environ.get(_SCREENSHOTS)
    if folder:
        # Fewer colours are enough, and make a third of the size.
        picture.quantize(colours).save(Path(folder) / f"{name}.png", optimize=True)
