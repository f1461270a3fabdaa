"""Print pip constraints that pin every dependency to its oldest supported minor version."""

import re
import tomllib
from pathlib import Path


def main():
    project = tomllib.loads(Path("pyproject.toml").read_text())
    for requirement in [*project["project"]["dependencies"], *project["dependency-groups"]["test"]]:
        name, version = re.match(r"([\w.-]+)(?:\[.*\])?>=([\d.]+)", requirement).groups()
        print(f"{name}=={version}.*" if version.count(".") == 1 else f"{name}=={version}")


if __name__ == "__main__":
    main()
