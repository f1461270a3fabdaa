"""What README and manual show runs, prints what they say, and links to what exists."""

import importlib
import os
import re
import unicodedata

import pytest
from pages import PAGES, ROOT, Session, blocks, same

import rosenblatt as rb
from rosenblatt.cli import COMMANDS

DOCS = ROOT / "docs"
IMAGE_OR_LINK = re.compile(r"\]\(<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\)|(?:src|href)=\"([^\"]+)\"")
FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)


def name(page):
    return str(page.relative_to(ROOT))


def read(page):
    return page.read_text(encoding="utf-8")


def run(page, need, capfd, monkeypatch, folder):
    monkeypatch.chdir(folder)
    session = Session(capfd)
    for block in blocks(page):
        if block.need != need and not (need and block.title):
            continue
        printed = session.do(block)
        if block.prints is None or same(block.prints, printed):
            continue
        if os.environ.get("ROSENBLATT_GOLDEN") == "update" and "…" not in block.prints:
            rewrite(page, block.prints, printed)
        else:
            raise AssertionError(f"{block} prints:\n{printed}")


def rewrite(page, old, new):
    """Put what a block prints now in the place of what the page shows."""
    tidy = "".join(f"{line.rstrip()}\n" for line in new.strip("\n").splitlines())
    page.write_text(
        read(page).replace(f"```text\n{old}```", f"```text\n{tidy}```"), encoding="utf-8"
    )


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(b.runs and not b.need for b in blocks(page))], ids=name
)
def test_the_code_of_a_page_runs_and_prints_the_output_shown(page, capfd, monkeypatch, tmp_path):
    run(page, "", capfd, monkeypatch, tmp_path)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(b.need == "data" for b in blocks(page))], ids=name
)
def test_the_code_of_a_page_about_published_data_runs(page, data, capfd, monkeypatch, tmp_path):
    for file in data.iterdir():
        os.symlink(file, tmp_path / file.name)
    run(page, "data", capfd, monkeypatch, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_code_block_is_of_a_known_kind(page):
    for block in blocks(page):
        known = ("python", "sh", "js", "text", "csv", "json", "yaml", "bibtex")
        assert block.language in known, str(block)
        assert not (block.runs and block.title), f"{block}: what runs is no file"
        if block.need:
            assert block.need == "data", str(block)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_pictures_exist(page):
    broken = [target for target in links(page) if not leads_somewhere(page, target)]
    assert broken == []


def test_a_broken_link_is_found():
    page = DOCS / "index.md"
    assert not leads_somewhere(page, "no-such-page.md")
    assert not leads_somewhere(page, "limits.md#no-such-heading")
    assert not leads_somewhere(page, "images/no-such-picture.png")
    assert leads_somewhere(page, "limits.md")


def test_every_page_of_the_manual_is_in_the_table_of_contents():
    listed = set(re.findall(r"([\w/-]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} == listed


def test_every_public_name_is_in_the_reference():
    reference = "".join(read(page) for page in (DOCS / "api").glob("*.md"))
    documented = set(re.findall(r"^::: rosenblatt\.(\w+)$", reference, re.MULTILINE))
    assert documented >= set(rb.__all__) - {"__version__"}


def test_every_command_is_in_the_reference():
    documented = re.findall(r"<!-- help: (\w+) -->", read(DOCS / "api" / "cli.md"))
    assert documented == list(COMMANDS)


def test_every_source_and_script_shown_exists():
    scripts = {n for page in PAGES for n in re.findall(r"<!-- script: ([\w./]+) -->", read(page))}
    assert scripts
    assert [script for script in scripts if not (ROOT / script).exists()] == []
    shown = {n for page in PAGES for n in re.findall(r"<!-- source: ([\w.]+) -->", read(page))}
    assert "rosenblatt.kernels.pla" in shown
    for dotted in shown:
        module, _, attribute = dotted.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), dotted


def links(page):
    text = FENCED.sub("", read(page))
    text = re.sub(r"`[^`\n]*`", "", text)
    return [a or b for a, b in IMAGE_OR_LINK.findall(text)]


def leads_somewhere(page, target):
    """Links to elsewhere are not followed; those within must hold, their headings too."""
    if re.match(r"https?://|mailto:", target):
        return True
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if file.name in made_by_script():
        return True
    if not file.exists():
        return False
    if file.suffix in (".png", ".gif"):  # Material's #only-light and #only-dark
        return anchor in ("", "only-light", "only-dark")
    return not anchor or anchor in anchors(file)


def made_by_script():
    """Pictures that `make docs` draws."""
    script = DOCS / "pictures.py"
    return set(re.findall(r"\"([\w-]+\.(?:png|svg|gif|html))\"", read(script)))


def anchors(page):
    """The headings of a page as MkDocs names them, and the names of the reference."""
    text = FENCED.sub("", read(page))
    headings = re.findall(r"^#+ (.+?)(?: \{#([\w-]+)\})?$", text, re.MULTILINE)
    named = {given or slug(title) for title, given in headings}
    return named | set(re.findall(r"^::: ([\w.]+)", text, re.MULTILINE))


def slug(title):
    plain = unicodedata.normalize("NFKD", re.sub(r"[`*]", "", title)).encode("ascii", "ignore")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain.decode()).strip().lower())
