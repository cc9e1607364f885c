#!/usr/bin/env bash
# Make requirements.lock anew: every extra, hashes, all platforms, no address of any registry. Needs uv.
set -euo pipefail
cd "$(dirname "$0")/.."
uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --all-extras \
    pyproject.toml --output-file requirements.lock "$@"
