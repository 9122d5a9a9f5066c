"""Write the report of `docs/report.md`, and take the pictures of it that the pages show.

Usage: ``python docs/take_screenshots.py``, after a change to reports. It needs Chromium and
playwright.
"""

import shutil
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.model_selection import train_test_split

from kernsemble.datasets import make_mixed_table
from kernsemble.report import write_report
from kernsemble.svm import InfiniteEnsembleClassifierCV

IMAGES = Path(__file__).parent / "images"
LIMIT = 250_000  # bytes of a picture
COLOURS = 128
DESKTOP, PHONE = (1280, 1690), (390, 844)


class Shot(NamedTuple):
    """A picture: window, theme, and the element that is shown, "" for the top of the page."""

    size: tuple[int, int]
    scheme: str
    element: str = ""
    is_whole: bool = False  # whether all of the element is shown, else one window from its top


SHOTS = {
    "report": Shot(DESKTOP, "light"),
    "report-dark": Shot(DESKTOP, "dark"),
    "report-phone": Shot(PHONE, "light"),
    "report-phone-dark": Shot(PHONE, "dark", "#what-if"),
    "report-threshold": Shot(DESKTOP, "light", "#threshold", is_whole=True),
    "report-what-if": Shot(DESKTOP, "light", "#what-if", is_whole=True),
}


def written(folder: Path) -> Path:
    """Return the page of the report."""
    X, y = make_mixed_table(1000, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    model = InfiniteEnsembleClassifierCV("stump", solver="additive", loss="logistic").fit(X, y)
    path = folder / "report.html"
    settings = {"title": "Who earns much?", "target": "income"}
    return write_report(model, path, X, y, X_test=X_test, y_test=y_test, **settings)


def picture(browser: Any, path: Path, shot: Shot) -> Any:
    """Return the picture of a page."""
    width, height = shot.size
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme=shot.scheme,
        device_scale_factor=2 if width < 500 else 1,
        is_mobile=width < 500,
        has_touch=width < 500,
    )
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    page.add_style_tag(content="html { scroll-behavior: auto !important; }")
    if shot.is_whole:
        page.add_style_tag(content="nav { display: none !important; }")
        page.add_style_tag(content=f"{shot.element} {{ padding: 1rem !important; }}")
        data = page.locator(shot.element).screenshot()
    else:
        if shot.element:
            page.evaluate("each => document.querySelector(each).scrollIntoView()", shot.element)
        data = page.screenshot()
    page.close()
    return Image.open(BytesIO(data)).convert("RGB")


def main() -> None:
    """Take all pictures."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        path = written(Path(folder))
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, shot in SHOTS.items():
            target = IMAGES / f"{name}.png"
            picture(browser, path, shot).quantize(COLOURS).save(target, optimize=True)
            if target.stat().st_size > LIMIT:
                sys.exit(f"{target.name} has more than {LIMIT:,} bytes")
        browser.close()


if __name__ == "__main__":
    main()
