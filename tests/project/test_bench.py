"""The results of the bench are complete, or name what is missing."""

import importlib
import io
import json
import sys
import types

import pytest

from bench import __main__ as bench
from bench import kept, part, render
from bench.line import Line, MissingError, Promise, Table, Target
from bench.measure import Times, at_most, faster, figure
from bench.promises import PROMISES

# The speed, memory and quality lines of the issues, as they are written there.
ISSUES = {
    2: "≤1.3 ≤1.3 ≥2.5 ≥3 ≤40 ≤8 ≤1.2 ≤0 ≤0.5 <1 ≥200",
    3: "≥15 ≥15 ≥10 ≥10 ≤1.5 ≤1.3 ≤1.3 ≥2",
    4: "≥10 ≤3 ≤1.5 ≥500 ≤10 ≤25 ≤148 ≤0 <1",
    5: "≤1 <500 <500",
    6: "≥2 ≥20 ≥2 ≥15 <20",
    7: "<16",
    8: "≤1.3 ≤1 ≤70 ≥4",
    18: "≥5 <60 <2 ≤0",
    19: "≤1 ≤2 ≤60 ≤10 ≤10 ≤10 ≥17 ≤60 ≤150 ≤600 ≤600 ≥29.7 ≥37.5 ≥16.3 ≥57.1 ≥34.5 ≤0.1",
    20: "≤0.2",
    21: "≥3 ≥0 ≥2 ≤1.15 ≥10",
    22: "≥4.5 ≥3 ≥1.3 ≤1.5 ≤2 ≥80 ≤0.6 ≤4 ≤0.5 ≥100 ≥300000 ≥5",
    29: "≤1 ≤1 ≤1 ≤1 ≤1 ≤1",
    32: "≥3 ≤0.3 ≤0.3 ≤1 ≤5 ≤30 ≤6",
}


@pytest.mark.parametrize("issue", ISSUES)
def test_every_target_of_the_issues_has_a_promise(issue):
    promises = [p for p in PROMISES.values() if p.issue == issue and p.target]
    targets = [str(p.target).replace(" ", "") for p in promises]
    assert targets == ISSUES[issue].split()


def test_every_promise_belongs_to_a_part_and_its_id_is_a_slug():
    for name in PROMISES:
        assert name.partition(".")[0] in bench.PARTS
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")


@pytest.mark.parametrize("name", bench.PARTS)
def test_every_promise_of_a_part_has_work_that_measures_it(name):
    works = importlib.import_module(f"bench.{name}").WORKS
    ids = tuple(beginning for beginnings in works.values() for beginning in beginnings)
    assert [id for id in PROMISES if id.startswith(f"{name}.") and not id.startswith(ids)] == []


def test_a_ratio_is_of_medians_and_its_spread_is_over_rounds():
    line = faster("pla.fit-1000x10", Times((2.0, 4.0, 9.0)), Times((1.0, 1.0, 3.0)))
    assert (line.figure, line.low, line.high, line.verdict) == (4.0, 2.0, 4.0, "pass")
    line = at_most("pla.import", Times((3.0,)), Times((1.0,)))
    assert (line.figure, line.verdict) == (3.0, "short")


def test_lines_and_tables_survive_json():
    line = figure("pla.memory-1000000x30", 16, (15.0, 17.0), "by hand", ours=Times((1.0, 2.0)))
    content = json.loads(json.dumps(line.to_json()))
    assert content["verdict"] == "pass"
    assert Line.from_json(content) == line
    table = Table("quality.any", "Any", ("set", "ours"), (("iris", 0.5), ("wine", None)))
    assert Table.from_json(json.loads(json.dumps(table.to_json()))) == table


def part_of(monkeypatch, works):
    module = types.ModuleType("bench.fake")
    module.WORKS = works
    monkeypatch.setitem(sys.modules, "bench.fake", module)
    out = io.StringIO()
    part.run("fake", True, out)
    return [json.loads(text) for text in out.getvalue().splitlines()]


def test_failed_work_and_missing_peers_are_reported_and_the_rest_runs(monkeypatch, capsys):
    promise = Promise("fake.good", 9, "good work", Target("≥", 2))

    def failing(quick):
        yield 1 / 0

    def lacking(quick):
        raise MissingError("Peer is not installed")

    def good(quick):
        yield Line(promise, 3.0)

    works = {failing: ("fake.bad",), lacking: ("fake.peer",), good: ("fake.good",)}
    results = part_of(monkeypatch, works)
    reasons = [result["missing"]["why"] for result in results if "missing" in result]
    assert reasons == ["ZeroDivisionError: division by zero", "Peer is not installed"]
    assert [result["line"]["id"] for result in results if "line" in result] == ["fake.good"]
    assert "ZeroDivisionError" in capsys.readouterr().err


def part_results(*lines, missing=(), tables=()):
    stamp = {"date": "today", "machine": "one", "versions": {"Python": "3"}, "quick": False}
    stamp |= {"load": 0.5, "cores": 2, "instructions": "some"}
    lists = {"lines": [line.to_json() for line in lines], "tables": list(tables)}
    return {**stamp, **lists, "missing": list(missing), "took": {}, "seconds": 1.0}


def test_a_promise_without_a_figure_gives_the_reason():
    missing = part_results(missing=[{"ids": ["page.frame"], "why": "no browser"}])
    notes = {line.id: line.note for line in bench.unmeasured("page", missing)}
    assert notes == {"page.frame-100000": "no browser", "page.first-step": "not run"}


def test_the_table_shows_pass_short_and_not_measured():
    lines = [
        figure("pla.import", 0.25, (0.2, 0.3)),
        figure("pla.first-call", 0.75),
        Line(PROMISES["pla.fit-1000x10"], None, note="Peer is not installed"),
        figure("pla.peer-sgd", 4321.0),
    ]
    text = render.markdown({"host": {"pla": part_results(*lines)}})
    assert "1 pass; 1 short (`pla.first-call`); 1 not measured (`pla.fit-1000x10`)" in text
    rows = {row.split("`")[1]: row for row in text.splitlines() if row.startswith("| `")}
    assert rows["pla.import"].endswith("| ≤ 1.2 × | 0.25 × | 0.2 to 0.3 | pass |  |")
    assert rows["pla.first-call"].endswith("| ≤ 0.5 s | 0.75 s |  | **short** |  |")
    assert rows["pla.fit-1000x10"].endswith("| **not measured** | Peer is not installed |")
    assert rows["pla.peer-sgd"].endswith("| — | 4,321 × faster |  | — |  |")


def test_a_busy_machine_and_smoke_sizes_are_reported():
    busy = part_results(figure("pla.import", 0.5)) | {"load": 9.5, "quick": True}
    text = render.markdown({"host": {"pla": busy}})
    assert "**The machine was busy with other work**: pla." in text
    assert "**Smoke sizes, no figures to quote**: pla." in text


def test_a_missing_load_is_reported_as_not_recorded():
    text = render.markdown(
        {"host": {"pla": part_results(figure("pla.import", 0.5)) | {"load": None}}}
    )
    assert "**The load of the machine was not recorded**: pla." in text
    assert "busy" not in text


def test_writing_one_part_keeps_the_others(tmp_path):
    bench.write(tmp_path, "pocket", part_results(figure("pocket.fukuml", 600)))
    bench.write(tmp_path, "pla", part_results(figure("pla.import", 0.5)))
    bench.write(tmp_path, "pla", part_results(figure("pla.import", 0.25)))
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    figures = {line["id"]: line["figure"] for one in results.values() for line in one["lines"]}
    assert {id: x for id, x in figures.items() if x} == {"pla.import": 0.25, "pocket.fukuml": 600}
    assert {"page.first-step", "growth.pla-rows", "quality.exact-proved"} <= set(figures)
    assert (tmp_path / "RESULTS.md").read_text(encoding="utf-8") == render.markdown(
        {"host": results}
    )


def test_figures_of_other_instruction_sets_do_not_replace_the_hosts(tmp_path):
    bench.write(tmp_path, "pla", part_results(figure("pla.import", 0.25)))
    bench.write(tmp_path, "pla", part_results(figure("pla.import", 0.5)), "generic")
    text = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    host, others = text.split("# The same, compiled for any processor of this kind")
    assert "| 0.25 × |" in host
    assert "| 0.5 × |" in others
    assert "`page.first-step`" in host
    assert "`page.first-step`" not in others


def test_a_process_compiles_for_the_requested_instructions():
    given = dict.fromkeys(kept.SETTINGS, "other") | {"PATH": "/bin"}
    assert kept.environment("host", given) == {"PATH": "/bin"}
    generic = kept.environment("generic", given)
    assert (generic["PATH"], generic["NUMBA_CPU_NAME"]) == ("/bin", "generic")
    assert "other" not in generic.values()


def test_the_markdown_table_matches_the_stored_results():
    results = kept.read()
    assert (bench.HERE / "RESULTS.md").read_text(encoding="utf-8") == render.markdown(results)


def test_the_stored_results_have_every_promise():
    lines = [line for part in kept.read()["host"].values() for line in part["lines"]]
    assert sorted(PROMISES) == sorted(line["id"] for line in lines)


@pytest.mark.parametrize("kind", kept.read())
def test_the_stored_results_are_of_full_size(kind):
    results = kept.read()[kind]
    assert set(results) <= set(bench.parts_of(kind))
    assert not any(part["quick"] for part in results.values())
    lines = [line for part in results.values() for line in part["lines"]]
    assert [line["id"] for line in lines if line["id"] not in PROMISES] == []
    for line in lines:
        target = PROMISES[line["id"]].target
        assert line["target"] == (target and {"way": target.way, "number": target.number})


def test_missing_measurements_are_listed_with_the_reason():
    gap = {"ids": ["quality.mistakes"], "why": "ROSENBLATT_DATA is not set"}
    text = render.markdown({"host": {"quality": part_results(missing=[gap])}})
    assert "- `quality.mistakes`: ROSENBLATT_DATA is not set" in text


def test_work_runs_at_smoke_size(monkeypatch):
    from bench import cli

    monkeypatch.setattr(cli, "WORKS", {cli.usage: ("cli.help",)})
    out = io.StringIO()
    part.run("cli", True, out)
    line = Line.from_json(json.loads(out.getvalue().splitlines()[0])["line"])
    assert line.low <= line.figure <= line.high
    assert len(line.seconds["ours"]) == len(line.seconds["peer"]) == 3
