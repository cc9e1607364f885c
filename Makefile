# Two commands: `make demo` runs the main job end to end, `make test` passes the tests. Both set up what they need.

PYTHON ?= $(shell command -v python3.11 || echo python3)
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= demo-out
WORKERS ?= 2

export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false

.PHONY: demo test test-full lint types layers setup clean

demo: setup
	$(BIN)/hazardmill demo --out $(OUT)

test: setup
	$(BIN)/python -m pytest -n $(WORKERS) -m "not full"

test-full: setup
	$(BIN)/python -m pytest -m full

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

setup: $(VENV)/.installed

# The lock is complete, so nothing is left to resolve (pip of Python 3.11 stumbles over extras when it resolves under
# hashes); hashes are checked for everything that is installed. The project itself comes from this folder.
$(VENV)/.installed: requirements.lock pyproject.toml
	$(PYTHON) scripts/check_python.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
