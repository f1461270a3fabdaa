"""Fail in CI if a regression has infinite estimates, and name these estimates and their rows.

Run it as `python examples/gate.py FILE.csv TARGET [FAMILY]`; without a file it writes a small trial
in which nobody on the new drug died. It exits as `rosenblatt separation` does: 0 if every estimate
is finite, 1 if some are infinite, 2 if that could not be decided, and 64 or more on errors. Lines
that begin with `::error` are shown by GitHub beside the file.
"""

import json
import subprocess
import sys
from pathlib import Path

TRIAL = """age,drug,died
45,old,no
71,old,yes
63,old,yes
58,old,no
52,new,no
66,new,no
74,new,no
80,old,no
"""


def main(file=None, target="died", family="binomial"):
    if file is None:
        file = "trial.csv"
        Path(file).write_text(TRIAL)
    command = [sys.executable, "-m", "rosenblatt", "separation", file, "--target", target]
    done = subprocess.run(
        [*command, "--family", family, "--json"], stdout=subprocess.PIPE, text=True, check=False
    )
    found = json.loads(done.stdout)
    if "error" in found:
        print(f"::error file={file}::{found['error']['message']}")
    elif found["kind"] == "undecided":
        print(f"::error file={file}::undecided: {found['reason']}")
    elif found["kind"] == "none":
        print(f"{file}: all {len(found['coefficients'])} estimates are finite")
    else:
        rows = ", ".join(map(str, found["separated"][:10]))
        for coefficient in found["coefficients"]:
            if coefficient["estimate"] in ("inf", "-inf"):
                name, value = coefficient["name"], coefficient["estimate"]
                print(f"::error file={file}::the estimate of {name} is {value}")
        print(f"{file}: {found['kind']} separation, because of rows {rows}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
