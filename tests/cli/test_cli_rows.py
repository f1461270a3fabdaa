"""On the command line rows are counted from 1, and those that were dropped are counted too."""

import json
from dataclasses import replace

import rosenblatt as rb

XOR = "a,b,y\n,5,no\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n"


def test_verdicts_count_from_1_and_count_dropped_rows(run_command, tmp_path):
    (tmp_path / "xor.csv").write_text(XOR)
    for command in ("learn", "separable"):
        out = run_command(command, "xor.csv", "--target", "y", "--missing", "drop")[1]
        assert "rows 2, 3, 4 and 5 all correctly" in out
    found = json.loads(
        run_command("separable", "xor.csv", "--target", "y", "--missing", "drop", "--json")[1]
    )
    assert sorted(one["row"] for one in found["conflict"]) == [2, 3, 4, 5]


def test_a_report_counts_rows_as_its_interface_does(run_command, tmp_path):
    (tmp_path / "xor.csv").write_text(XOR)
    assert run_command("learn", "xor.csv", "--target", "y", "--missing", "drop", "--report")[0] == 0
    page = (tmp_path / "report.html").read_text()
    assert "Examples are counted from 1." in page
    assert "rows 2, 3, 4 and 5 all correctly" in page
    rb.learn(tmp_path / "xor.csv", target="y", missing="drop").report(tmp_path / "own.html")
    own = (tmp_path / "own.html").read_text()
    assert "Examples are counted from 0." in own
    assert "rows 1, 2, 3 and 4 all correctly" in own
    mistaken = [page.split('<th scope="col" class="n">example')[1] for page in (page, own)]
    theirs, ours = (int(part.split('<td class="n">')[1].split("<")[0]) for part in mistaken)
    assert theirs == ours + 1


def test_errors_of_a_regression_count_rows_of_the_file(run_command, tmp_path):
    (tmp_path / "counts.csv").write_text("x,y\n1,1\n,2\n2,0\n3,-1\n4,2\n")
    arguments = ("counts.csv", "--target", "y", "--family", "poisson", "--missing", "drop")
    code, _, err = run_command("separation", *arguments)
    assert (code, "y, row 4: -1" in err) == (65, True)


def test_a_refuted_proof_names_a_row_of_the_file(run_command, tmp_path):
    (tmp_path / "line.csv").write_text("x,y\n,0\n0,0\n1,0\n5,1\n")
    proof = rb.separability([[0.0], [1.0], [5.0]], [0, 0, 1]).proof
    (tmp_path / "forged.json").write_text(replace(proof, weights=(-1, 0)).to_json())
    arguments = ("forged.json", "line.csv", "--target", "y", "--missing", "drop", "--json")
    code, out, _ = run_command("verify", *arguments)
    found = json.loads(out)
    assert (code, found["holds"]) == (1, False)
    assert "row 4: the signed score w·z is negative" in found["reason"]
