"""What people read on the command line, word for word: tests/golden holds the texts.

`ROSENBLATT_GOLDEN=update` rewrites the files; read the difference before you commit it.
"""

import re

import pytest

CREDIT = """age,salary,approved
45,62,yes
31,48,yes
52,39,no
38,71,yes
27,35,no
34,29,no
"""
XOR = "a,b,label\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n"
TRIAL = "dose,ward,died\n1,east,no\n2,east,no\n3,west,no\n3,west,yes\n4,west,yes\n"
FILES = {"credit.csv": CREDIT, "xor.csv": XOR, "trial.csv": TRIAL, "bad.csv": "x,y\n1,a\nn/a,b\n"}
COMMANDS = [
    "learn",
    "predict",
    "separable",
    "separation",
    "verify",
    "stream",
    "experiment",
    "watch",
]
SESSIONS = {
    "help": ["--help", *(f"{command} --help" for command in COMMANDS)],
    "learn": [
        "learn credit.csv --target approved",
        "predict model.json credit.csv --explain -o explained.csv",
        "learn xor.csv --target label --algorithm fewest --top 0",
    ],
    "separable": [
        "separable credit.csv --target approved --proof proof.json",
        "verify proof.json credit.csv",
        "separable xor.csv --target label --proof proof.json",
        "verify proof.json xor.csv",
        "verify proof.json credit.csv",
    ],
    "separation": [
        "separation trial.csv --target died",
        "separation credit.csv --target approved --family poisson",
    ],
    "stream": ["stream credit.csv --target approved", "stream credit.csv --target aproved"],
    "experiment": ["experiment -n 10 --runs 20 --seed 1"],
    "errors": [
        "learn nothing.csv",
        "learn bad.csv",
        "learn bad.csv --target z",
        "learn credit.csv --target age",
        "predict credit.csv credit.csv",
        "fly",
    ],
}


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("name", SESSIONS)
def test_printed_sessions_match_the_golden_files(name, golden, run_command, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    lines = []
    for command in SESSIONS[name]:
        code, out, err = run_command(*command.split())
        text = re.sub("[0-9,]+ rows per second", "N rows per second", out + err)
        text = re.sub("rosenblatt: compiling and loading took .*\n", "", text)  # on a slow machine
        lines += [f"$ rosenblatt {command}", f"{text}[{code}]", ""]
    golden(f"{name}.txt", "\n".join(lines))
