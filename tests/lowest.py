"""Print pip constraints that pin every dependency to its oldest supported minor version."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())
groups = project["dependency-groups"]
for requirement in [*project["project"]["dependencies"], *groups["test"]]:
    if isinstance(requirement, str):
        name, extras, version = re.match(r"([\w.-]+)(\[.*\])?>=([\d.]+)", requirement).groups()
        print(f"{name}=={version}.*" if version.count(".") == 1 else f"{name}=={version}")
