#!/usr/bin/env bash
# Make the locks anew: hashes, all platforms, no address of where a package comes from. Needs uv. Options go to it, such
# as --upgrade; without them, what is locked stays. Each lock but the first holds what it needs beyond the first ones.
#   requirements.lock          what runs: `make demo`, `make server`, the worker's image. Permissive licences only
#   requirements-dev.lock      what tests and linters need besides
#   requirements-deploy.lock   what checks the files of deploy/: in a folder of its own, beside the environment
#   requirements-docs.lock     what builds the documentation as a site: in a folder of its own, too
#   requirements-engines.lock  GPL, or free for education only: ENHSP with its Java, Tamer, and BLISS for the tests
set -euo pipefail
cd "$(dirname "$0")/.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

run=(--group build)
for extra in mill llm prefect dask s3 review hub evaluation up; do run+=(--extra "$extra"); done
dev=("${run[@]}" --group dev)
deploy=("${dev[@]}" --group deploy)
docs=("${dev[@]}" --group docs)
all=("${deploy[@]}" --group docs --group oracles --extra enhsp --extra tamer)

compile() {
    uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 pyproject.toml "$@" > /dev/null
}
# The packages of a lock that stand in none of the others, or there for other platforms.
lacking() { awk 'FILENAME != last { if (!/^ /) there[$0]; next } !/^ / { new = !($0 in there) } new' last="${*: -1}" "$@"; }

# All is resolved at once, so that the locks agree.
cat requirements.lock requirements-dev.lock requirements-deploy.lock requirements-docs.lock requirements-engines.lock > "$work/all.lock"
compile "${all[@]}" --output-file "$work/all.lock" "$@"
compile "${run[@]}" --constraint "$work/all.lock" --output-file "$work/run.lock"
compile "${dev[@]}" --constraint "$work/all.lock" --output-file "$work/dev.lock"
compile "${deploy[@]}" --constraint "$work/all.lock" --output-file "$work/deploy.lock"
compile "${docs[@]}" --constraint "$work/all.lock" --output-file "$work/docs.lock"
cp "$work/run.lock" requirements.lock
lacking "$work/run.lock" "$work/dev.lock" > requirements-dev.lock
lacking "$work/run.lock" "$work/dev.lock" "$work/deploy.lock" > requirements-deploy.lock
lacking "$work/run.lock" "$work/dev.lock" "$work/docs.lock" > requirements-docs.lock
lacking "$work/run.lock" "$work/deploy.lock" "$work/docs.lock" "$work/all.lock" > requirements-engines.lock
