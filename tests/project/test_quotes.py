"""The figures quoted in README and manual are those that `make bench` wrote."""

import pytest
from pages import ROOT

from bench import kept, quotes
from bench.promises import PROMISES

RESULTS = {
    "pla": {
        "quick": False,
        "lines": [
            {
                "id": "pla.dense-100000x10",
                "work": "5 cycles",
                "figure": 7.654,
                "low": 7.0,
                "high": 8.0,
                "unit": "× faster",
                "target": {"way": "≥", "number": 5},
                "verdict": "pass",
            }
        ],
        "tables": [{"id": "q", "columns": ["a", "b"], "rows": [["x", 0.5]]}],
    }
}


@pytest.mark.parametrize("page", quotes.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_quoted_figures_match_the_results(page):
    text = page.read_text(encoding="utf-8")
    assert quotes.filled(text, quotes.read()) == text, "run `make quotes`"


def test_every_quote_refers_to_a_line_of_the_bench():
    known = {*PROMISES, *(f"{promise.part}.*" for promise in PROMISES.values())}
    for page in quotes.pages():
        text = page.read_text(encoding="utf-8")
        one = [found[1] for found in quotes.ONE.findall(text)]
        many = [name for found in quotes.LINES.findall(text) for name in found[1].split()]
        for name in one + many:
            known = (
                PROMISES if not name.endswith(".*") else {p.part + ".*" for p in PROMISES.values()}
            )
            assert name in known, f"{page}: {name}"


def test_a_changed_figure_is_updated():
    text = "It is <!-- bench:pla.dense-100000x10 -->99 × faster<!-- /bench -->, we say."
    good = "It is <!-- bench:pla.dense-100000x10 -->7.65 × faster<!-- /bench -->, we say."
    assert quotes.filled(text, RESULTS) == good
    assert quotes.filled(good, RESULTS) == good


def test_missing_measurements_are_not_quoted(tmp_path):
    assert quotes.MISSING in quotes.filled("<!-- bench:pla.import -->3<!-- /bench -->", RESULTS)
    assert quotes.read(tmp_path) == {}


def test_the_weaker_figure_of_two_compilations_is_quoted(tmp_path):
    at_most = {"id": "at most", "figure": 1.2, "unit": "×", "target": {"way": "≤", "number": 2}}
    lines = [*RESULTS["pla"]["lines"], at_most, {**at_most, "id": "unmeasured", "figure": None}]
    other = [{**line, "figure": 1.5} for line in lines]
    kept.write(tmp_path, "host", {"pla": {**RESULTS["pla"], "lines": lines}})
    kept.write(tmp_path, "avx2", {"pla": {**RESULTS["pla"], "lines": other}})
    kept.write(tmp_path, "generic", {"pla": {**RESULTS["pla"], "lines": lines}})
    figures = {line["id"]: line["figure"] for line in quotes.read(tmp_path)["pla"]["lines"]}
    assert figures == {"pla.dense-100000x10": 1.5, "at most": 1.5, "unmeasured": None}


def test_tables_are_written_between_their_marks():
    text = "<!-- bench-table: pla.* -->\nold\n<!-- /bench-table -->"
    table = quotes.filled(text, RESULTS)
    assert "| 5 cycles | 7.65 × faster | 7 to 8 | ≥ 5 | met |" in table
    assert "old" not in table
    assert table.count(quotes.MISSING) == len([i for i in PROMISES if i.startswith("pla.")]) - 1
    text = "<!-- bench-quality: q -->\nold\n<!-- /bench-quality -->"
    assert "| x | 0.5 |" in quotes.filled(text, RESULTS)
