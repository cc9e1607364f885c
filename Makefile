# Two commands: `make demo` runs the main job end to end, `make test` passes the tests. Both set up what they need, and
# only tests bring what is under the GPL or for education alone (docs/licences.md); `make engines` is for who wants it.
# With Prefect: `make server`, `make worker` and `make deploy`, each in a terminal of its own (docs/prefect.md).

PYTHON ?= $(shell command -v python3.11 || echo python3)
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= demo-out
# Of tests at once: one more than two cores, because many wait for disks, servers and processes.
WORKERS ?= 3
PORT ?= 4200
POOL := mill

export DO_NOT_TRACK := 1
# Containers set it. Without compiled files each of some thousand processes compiles the package once more, and pytest
# each test module.
unexport PYTHONDONTWRITEBYTECODE
export PREFECT_SERVER_ANALYTICS_ENABLED := false

# The server that workers and deployments talk to; another one by the environment.
PREFECT_API_URL ?= http://127.0.0.1:$(PORT)/api
# How long the server keeps flow runs with their logs, tasks and artifacts (seconds), and events. The store keeps all.
PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED ?= events,flow_runs
PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD ?= 7776000
PREFECT_SERVER_EVENTS_RETENTION_PERIOD ?= P7D
# With SQLite's five connections, one that holds the lock can wait for another until all time out: minutes of silence.
PREFECT_SERVER_DATABASE_SQLALCHEMY_POOL_SIZE ?= 50
# Prefect ends a flow run whose lease on its deployment is gone, and in memory leases are gone when the server restarts.
PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE ?= prefect.server.concurrency.lease_storage.filesystem
# Seconds between a worker's looks for work.
PREFECT_WORKER_QUERY_SECONDS ?= 2
# While its database is away a server answers 500. Requests are repeated for two minutes instead of ending a flow run.
PREFECT_CLIENT_RETRY_EXTRA_CODES ?= 500
PREFECT_CLIENT_MAX_RETRIES ?= 6

# Nothing is left to resolve in a lock (pip of Python 3.11 stumbles over extras when it resolves under hashes), and
# hashes are checked for everything that is installed.
# CI passes --no-compile: what is imported is compiled then, and the rest would double the time of an installation.
PIP_FLAGS ?=
INSTALL := -m pip install --quiet --disable-pip-version-check --no-deps $(PIP_FLAGS)
LOCKED := $(INSTALL) --require-hashes --requirement

# Two installs into one environment at once would not do.
.NOTPARALLEL:
.PHONY: demo test test-full validators lint types layers docs setup dev engines server worker deploy clean

demo: setup
	$(BIN)/hazardmill demo --out $(OUT)

test: dev engines
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not full"

test-full: dev engines validators
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m full

# Validators that cannot live beside our own packages: cffconvert wants a jsonschema of before 4, and Prefect imports its
# integration with Kubernetes wherever it is installed.
validators: $(VENV)/cffconvert/.installed $(VENV)/deploy/.installed

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev
	$(BIN)/mypy

layers: dev
	$(BIN)/lint-imports

# The documentation as a site, in site/. A link that leads nowhere is an error.
docs: export PYTHONPATH := $(VENV)/docs
docs: export NO_MKDOCS_2_WARNING := 1
docs: $(VENV)/docs/.installed
	$(BIN)/python -m mkdocs build --quiet

server: export PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED := $(PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED)
server: export PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD := $(PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD)
server: export PREFECT_SERVER_DATABASE_SQLALCHEMY_POOL_SIZE := $(PREFECT_SERVER_DATABASE_SQLALCHEMY_POOL_SIZE)
server: export PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE := $(PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE)
server: export PREFECT_SERVER_EVENTS_RETENTION_PERIOD := $(PREFECT_SERVER_EVENTS_RETENTION_PERIOD)
# The server reads its port from the first, and tells its pages the second: whatever the shell has for its clients.
server: export PREFECT_SERVER_API_PORT := $(PORT)
server: export PREFECT_API_URL := http://127.0.0.1:$(PORT)/api
server: setup
	exec $(BIN)/prefect server start --host 127.0.0.1

worker deploy: export PREFECT_API_URL := $(PREFECT_API_URL)
worker: export PREFECT_WORKER_QUERY_SECONDS := $(PREFECT_WORKER_QUERY_SECONDS)
worker: export PREFECT_CLIENT_RETRY_EXTRA_CODES := $(PREFECT_CLIENT_RETRY_EXTRA_CODES)
worker: export PREFECT_CLIENT_MAX_RETRIES := $(PREFECT_CLIENT_MAX_RETRIES)
# Flows run where the worker was started: prefect.yaml takes this variable as their folder.
worker: export PWD := $(CURDIR)
worker: setup
	exec $(BIN)/prefect worker start --pool $(POOL) --type process

# Never asks anything, and may be repeated: what is there already is left, or replaced by what the files say now.
deploy: setup
	@$(BIN)/python scripts/check_server.py
	$(BIN)/prefect --no-prompt work-pool create $(POOL) --type process > /dev/null 2>&1 || $(BIN)/prefect work-pool inspect $(POOL) > /dev/null
	$(BIN)/prefect --no-prompt deploy --all
	$(BIN)/python -m flows.deploying

# What runs; what tests and linters need besides; engines and oracles with other licences.
setup: $(VENV)/.installed
dev: $(VENV)/.dev
engines: $(VENV)/.engines

# The project itself comes from this folder.
$(VENV)/.installed: requirements.lock pyproject.toml
	$(PYTHON) scripts/check_python.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(LOCKED) requirements.lock
	$(BIN)/python $(INSTALL) --no-build-isolation --editable .
	touch $@

$(VENV)/.dev $(VENV)/.engines: $(VENV)/.%: requirements-%.lock $(VENV)/.installed
	$(BIN)/python $(LOCKED) $<
	touch $@

# One of its packages comes as source. The lock's own setuptools builds it, so that nothing comes unhashed; the one that
# a new environment begins with may be too old to make a wheel.
$(VENV)/cffconvert/.installed: tests/release/cffconvert.lock | setup
	rm -rf $(VENV)/cffconvert
	$(PYTHON) -m venv $(VENV)/cffconvert
	sed -n '/^setuptools==/,/[^\\]$$/p' $< > $(VENV)/cffconvert/setuptools.lock
	$(VENV)/cffconvert/bin/python $(LOCKED) $(VENV)/cffconvert/setuptools.lock
	$(VENV)/cffconvert/bin/python $(LOCKED) $< --no-build-isolation
	touch $@

# Folders for PYTHONPATH: what else they need is in the environment.
$(VENV)/deploy/.installed $(VENV)/docs/.installed: $(VENV)/%/.installed: requirements-%.lock | setup dev
	rm -rf $(VENV)/$*
	$(BIN)/python $(LOCKED) $< --target $(VENV)/$*
	touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
