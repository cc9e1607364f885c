#!/usr/bin/env bash
# Make requirements.lock anew: every extra that a test needs, hashes, all platforms, no address of any registry. Needs uv.
set -euo pipefail
cd "$(dirname "$0")/.."
uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
    --extra llm --extra prefect --extra dask --extra s3 --extra review --extra hub --extra evaluation --extra up --extra enhsp --extra tamer --extra dev \
    pyproject.toml --output-file requirements.lock "$@"
