"""The links to a repository, the weights of the search, and the pages of mistakes, without building the site."""

import json
import re
from types import SimpleNamespace

import pytest

from docs.build import ROOT, hooks, mistakes
from minigrad import config

ADDRESS = "https://github.com/ada/engine"
OWN = {"minigrad/config.py", "pyproject.toml"}  # the setting, and the name of the distribution


def page(address):
    """Return a page as MkDocs shows it after the hooks."""
    made = SimpleNamespace(file=SimpleNamespace(src_uri=address), meta={}, edit_url="before")
    hooks.on_page_markdown("", made, None, None)
    return made


def test_without_a_repository_nothing_links_to_one():
    site, shown = SimpleNamespace(repo_url=None, repo_name=None, site_url="", nav=[]), page("start.md")
    hooks.on_config(site)
    assert shown.edit_url is None and site.repo_url is None and not hooks.name()


def test_one_setting_makes_the_links_to_the_repository_and_to_the_source_of_each_page(monkeypatch):
    monkeypatch.setattr(config, "REPOSITORY", ADDRESS)
    site = SimpleNamespace(repo_url=None, repo_name=None, site_url="", nav=[])
    hooks.on_config(site)
    assert (site.repo_url, site.repo_name) == (ADDRESS, "ada/engine")
    for address in [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("[!g]*/*.md")]:
        assert page(address).edit_url == f"{ADDRESS}/edit/main/docs/{address}"
    made = {"lessons/01_numbers_that_remember.md": "lessons/01_numbers_that_remember.py",
            "mistakes/saving.md": "tests/mistakes/saving.py", "mistakes/index.md": "docs/build/mistakes.py"}  # fmt: skip
    for address, file in made.items():
        assert page(address).edit_url == f"{ADDRESS}/edit/main/{file}"
        assert (ROOT / file).is_file()


def test_the_site_has_the_address_to_which_links_lead_unless_the_build_names_another(monkeypatch):
    monkeypatch.setattr(config, "SITE", "https://ada.example/")
    for given, wanted in (("", "https://ada.example/"), ("https://other.example/", "https://other.example/")):
        site = SimpleNamespace(repo_url=None, repo_name=None, site_url=given, nav=[])
        hooks.on_config(site)
        assert site.site_url == wanted


def test_the_reference_counts_more_in_the_search_than_the_mistakes():
    weights = [page(a).meta["search"]["boost"]
               for a in ("reference/func.md", "start.md", "changelog.md", "mistakes/saving.md")]  # fmt: skip
    assert weights == sorted(weights, reverse=True) and len(set(weights)) == 4


@pytest.mark.parametrize("folder", ["minigrad", "viz", "lessons", "docs", "tools", "README.md"])
def test_no_text_names_an_extra_of_a_distribution_that_may_not_be_published(folder):
    files = (
        [ROOT / folder] if folder.endswith(".md") else [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.md")]
    )
    found = [path for path in files if "gen" not in path.parts and "minigrad-viz[" in path.read_text(encoding="utf-8")]
    assert {path.relative_to(ROOT).as_posix() for path in found} <= OWN


def test_each_mistake_is_in_the_page_of_its_theme_and_each_link_leads_to_one(tmp_path, monkeypatch):
    monkeypatch.setattr(mistakes, "printed", lambda mistake: "the message")
    mistakes.write(tmp_path)
    anchors = {f"{file.name}#{slug}" for file in tmp_path.glob("*.md")
               for slug in re.findall(r"^## .* \{ #(\S+) \}$", file.read_text(), re.MULTILINE)}  # fmt: skip
    links = re.findall(r"\]\((\S+?\.md#\S+?)\)", (tmp_path / "index.md").read_text())
    assert set(links) == anchors and len(anchors) == len(mistakes.collection()) > 500
    assert len(list(tmp_path.glob("*.md"))) < 60


def test_the_weights_and_the_links_reach_the_built_site(tmp_path, monkeypatch):
    """MkDocs reads a page's metadata after its first events, and would overwrite what they set."""
    pytest.importorskip("material", reason="needs the extra docs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    monkeypatch.setattr(config, "REPOSITORY", ADDRESS)
    for name in ("reference/func.md", "mistakes/saving.md"):
        (tmp_path / "gen" / name).parent.mkdir(parents=True)
        (tmp_path / "gen" / name).write_text("# jvp\n\nWords about `minigrad.func.jvp`.\n")
    options = {
        "docs_dir": str(tmp_path / "gen"),
        "site_dir": str(tmp_path / "site"),
        "nav": None,
        "plugins": ["search"],
    }
    build(load_config(str(ROOT / "mkdocs.yml"), **options))
    found = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text())["docs"]
    assert {entry["location"]: entry["boost"] for entry in found} == {
        "reference/func.html": 10.0,
        "mistakes/saving.html": 0.001,
    }
    made = (tmp_path / "site" / "mistakes" / "saving.html").read_text()
    assert f"{ADDRESS}/edit/main/tests/mistakes/saving.py" in made
