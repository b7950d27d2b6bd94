"""A headless browser, and a page in it for each test."""

import pytest

from tests.browser import launched
from viz.viewer import page as page_of


@pytest.fixture(scope="module")  # its event loop must not outlive it: other tests run their own loops
def chromium():
    with launched() as browser:
        yield browser


class Viewer:
    """A page with a record open in it, and what went wrong in it."""

    def __init__(self, page):
        self.page, self.problems, self.requests = page, [], []
        page.set_default_timeout(60_000)
        page.on("console", lambda message: self.problems.append(message.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", lambda dialog: (self.problems.append(dialog.message), dialog.dismiss()))

    def open(self, file, fragment=""):
        self.page.goto(file.as_uri() + fragment)
        self.page.wait_for_selector("html[data-ready]")
        return self

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def text(self, selector):
        """Return the text of the first element, its runs joined, and its minus signs as Python writes them."""
        return (self.page.locator(selector).first.text_content() or "").replace("\u2212", "-")

    def menu(self):
        """Open the menu of what has no button in the row."""
        self.page.click("#more > summary")
        return self

    def step(self):
        return self.text("#where")

    def classes(self, selector):
        return (self.page.locator(selector).first.get_attribute("class") or "").split()


@pytest.fixture
def viewer(chromium, tmp_path):
    """Opens records; fails the test if a page says or asks for anything."""
    opened = []

    def open_record(record, fragment="#0", depth=None, **options):
        context = chromium.new_context(**{"viewport": {"width": 1360, "height": 1100}, **options})
        made = Viewer(context.new_page())
        opened.append((context, made))
        file = tmp_path / f"{len(opened)}.html"
        file.write_text(page_of(record, depth), encoding="utf-8")
        return made.open(file, fragment)

    yield open_record
    problems = [problem for _, made in opened for problem in made.problems]
    requests = [url for _, made in opened for url in made.requests if not url.startswith("file:")]
    for context, _ in opened:
        context.close()
    assert not problems
    assert not requests
