"""The tests that make ``.ci/run`` too long at their full size, at that size: examples, records, tasks.

    python benchmarks/large_tests.py [-k WORDS]

Each of them says both of its sizes by ``sized(small, large)`` (``tests/sizes.py``). Nothing else differs: it is the
same test with the same assertions. The exit code is pytest's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
TIMEOUT = 1200


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("-k", metavar="WORDS", help="only tests that pytest's -k chooses")
    options = parser.parse_args()
    files = sorted(path for path in (PROJECT / "tests").rglob("test_*.py") if "sized(" in path.read_text("utf-8"))
    chosen = ["-k", options.k] if options.k else []
    command = [sys.executable, "-m", "pytest", "--timeout", str(TIMEOUT), "--durations", "50", *chosen]
    return subprocess.call([*command, *files], cwd=PROJECT, env={**os.environ, "HAZARDMILL_LARGE_TESTS": "1"})


if __name__ == "__main__":
    sys.exit(main())
