"""Where the installed program is."""

import sys
from pathlib import Path

PROGRAM = str(Path(sys.executable).parent / "rosenblatt")
