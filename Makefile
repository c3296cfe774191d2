# Everything here sets itself up: a private virtual environment in .venv, filled from a lock file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed is compiled when it is first imported, not all at once: most of it never is, and that took a third of the set-up.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile
SOURCES := src tests benchmarks examples docs
# Processes of tests. The third works while another waits for a server, a browser or a child: on two cores 12:19 minutes instead of 13:49.
WORKERS ?= 3

# Tests run in several processes: what one has compiled, Python and kernels, the next one finds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help kills demo test lint types layers unit thorough servers faults fuzz audit bench docs manual picture lock clean

help:  ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  make \1\t/' | expand -t 16

demo: $(VENV)/.runtime  ## anonymize a made-up table, verify it and write a report: nothing to prepare
	@$(BIN)/oboro demo

test: lint layers  ## everything that must hold before a change lands
	@$(MAKE) --no-print-directory --jobs=2 types unit

lint: $(VENV)/.dev  ## style
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check --exclude '*.md' $(SOURCES)

types: $(VENV)/.dev  ## types, strictly
	$(BIN)/mypy --strict

layers: $(VENV)/.dev  ## imports point down only
	$(BIN)/lint-imports

servers:  # a browser, a database and brokers for the tests that need a real one; without it those tests are skipped, and say so
	@lacking=""; have() { command -v "$$1" >/dev/null || ls /usr/sbin/"$$1" /usr/lib/postgresql/*/bin/"$$1" 2>/dev/null | grep -q .; }; \
	  have chromium || have google-chrome || lacking="chromium fonts-noto-cjk"; \
	  have initdb || lacking="$$lacking postgresql"; \
	  have mosquitto || lacking="$$lacking mosquitto"; \
	  have rabbitmq-server || lacking="$$lacking rabbitmq-server"; \
	  [ -z "$$lacking" ] && exit 0; \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq; \
	  for one in $$lacking; do \
	    { [ "$$(id -u)" = 0 ] && RUNLEVEL=1 apt-get install -qq -y --no-install-recommends "$$one" >/dev/null 2>&1; } \
	      || echo "No $$one here: the tests that need it are skipped" >&2; \
	  done

unit: $(VENV)/.dev servers  ## tests, property tests and the examples in the documentation
	$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadgroup --no-loadscope-reorder

thorough: $(VENV)/.dev servers  ## the tests, with many more examples of each property that does not say how many
	OBORO_EXAMPLES=thorough $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadgroup --no-loadscope-reorder

faults: $(VENV)/.dev  ## kill tables and streams KILLS times (2000), by chance from SEED, and count what is wrong afterwards
	PYTHONPATH=$(CURDIR) $(BIN)/python -m tests.faults.killer --kills $(or $(KILLS),2000) --seed $(or $(SEED),1) $(if $(JSON),--json $(JSON))

kills: $(VENV)/.dev  ## kill services between brokers KILLS times each (200), by chance from SEED; ONLY=nats for one broker
	$(BIN)/python -m benchmarks.kill_run --kills $(or $(KILLS),200) --seed $(or $(SEED),20) $(if $(ONLY),--only $(ONLY)) --side-by-side $(if $(JSON),--json $(JSON))

fuzz: $(VENV)/.dev  ## made-up input on every reader, recipe, state and command: CASES=n or BUDGET=seconds, SEED=n
	$(BIN)/python -m tests.fuzz.run $(if $(CASES),--cases $(CASES)) $(if $(BUDGET),--budget $(BUDGET)) \
	  $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(if $(REPEAT),--repeat $(REPEAT)) $(if $(JSON),--json $(JSON))

audit: $(VENV)/.dev  ## ask the advisory database about the pinned versions (needs the network)
	$(BIN)/uv tool run pip-audit --strict --require-hashes --disable-pip -r requirements.lock

bench: $(VENV)/.dev  ## every goal of speed in one go, beside what is measured here (ONLY=part, SCALE=0.01 for a first look)
	$(BIN)/python -m benchmarks.scoreboard $(if $(ONLY),--only $(ONLY)) $(if $(SCALE),--scale $(SCALE))

docs: $(VENV)/.dev  ## build the site into site/: pages, and a reference written from the code
	$(BIN)/sphinx-build -q -n -W --keep-going -b html docs site

manual: $(VENV)/.dev  ## write docs/oboro.1 anew, when the test of the manual page says so
	$(BIN)/python docs/manual.py

picture: $(VENV)/.dev  ## draw docs/architecture.svg anew from the imports
	$(BIN)/python docs/architecture.py

lock: $(VENV)/.dev  ## write the lock files anew from pyproject.toml: known versions stay (UPGRADE=1: the newest)
	$(BIN)/uv pip compile $(LOCK) --extra build $(PARTS) pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile $(LOCK) --extra build $(PARTS) --extra docs --extra dev pyproject.toml -o requirements-dev.lock
	$(BIN)/uv pip compile $(LOCK) --extra build $(SERVICE) --constraints requirements-dev.lock pyproject.toml -o deploy/requirements.lock
SERVICE := --extra nats --extra redis --extra kafka --extra mqtt --extra rabbitmq --extra service
PARTS := --extra excel --extra report --extra web
LOCK := --quiet $(if $(UPGRADE),--upgrade) --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11

clean:  ## remove the environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "oboro needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null \
	  || { rm -rf $(VENV); $(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; } \
	  || { rm -rf $(VENV); echo "Python cannot make a virtual environment here: install python3-venv (Debian) and try again" >&2; exit 2; }

$(VENV)/.runtime: requirements.lock pyproject.toml | $(BIN)/python
	@echo "Setting up .venv (once; about a minute) ..."
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml | $(BIN)/python
	@echo "Setting up .venv with the development tools (once; about a minute) ..."
	@$(PIP) --require-hashes -r requirements-dev.lock
	@$(PIP) --no-build-isolation --no-deps -e .
	@touch $@
