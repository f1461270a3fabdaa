"""Run COMMAND while two busy processes per core compete: run_while_busy.py COMMAND."""

import os
import subprocess
import sys


def main(command):
    spin = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(spin) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        return subprocess.run(command).returncode
    finally:
        for process in busy:
            process.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
