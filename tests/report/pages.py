"""Pages in a browser."""

import shutil

import pytest

pytest.importorskip("playwright", reason="playwright drives the browser")

from playwright.sync_api import Error, sync_playwright

WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as driver:
        try:
            opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        except Error as error:
            pytest.skip(f"chromium does not start here: {error}")
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def opened(browser, path, width="desktop", scheme="light", ready="html[data-ready]"):
    """Return the page when it is drawn, and its console messages and errors."""
    size = dict(zip(("width", "height"), WIDTHS[width], strict=True))
    is_phone = width == "phone"
    context = browser.new_context(
        viewport=size, color_scheme=scheme, offline=True, is_mobile=is_phone, has_touch=is_phone
    )
    page, messages = context.new_page(), []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector(ready, state="attached", timeout=60_000)
    return page, messages
