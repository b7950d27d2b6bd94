"""Every link of the built site leads somewhere, and no page has an id twice."""

from collections import Counter
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """The references of a page, and the ids that others can refer to."""

    def __init__(self, file):
        super().__init__()
        self.ids, self.links, self.nameless = Counter(), [], []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "id" in given:
            self.ids[given["id"]] += 1
        self.links += [given[name] for name in ("href", "src", "srcset") if given.get(name)]
        if (tag == "img" and not given.get("alt")) or (given.get("role") == "img" and not given.get("aria-label")):
            self.nameless.append(given)


def pages(site):
    return {file: Page(file) for file in sorted(site.rglob("*.html")) if file.name != "404.html"}


def test_every_link_leads_somewhere(site):
    found = pages(site)
    broken = []
    for file, page in found.items():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (file.parent / unquote(address.path)).resolve() if address.path else file
            target = target / "index.html" if target.is_dir() else target
            fragment = unquote(address.fragment)
            if not target.is_file():
                broken.append(f"{file.relative_to(site)}: {link}: no such file")
            elif (
                fragment
                and target in found
                and fragment not in found[target].ids
                and not fragment.startswith(("__", "r="))
            ):  # a record in a link
                broken.append(f"{file.relative_to(site)}: {link}: no such place on the page")
    assert not broken, "\n".join(broken[:20])


def test_no_id_stands_twice_on_a_page(site):
    twice = {
        str(file.relative_to(site)): sorted(id for id, count in page.ids.items() if count > 1)
        for file, page in pages(site).items()
    }
    assert not {name: ids for name, ids in twice.items() if ids}


def test_every_picture_has_words(site):
    nameless = {str(file.relative_to(site)): page.nameless for file, page in pages(site).items() if page.nameless}
    assert not nameless
