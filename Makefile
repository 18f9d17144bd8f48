# Everything sets itself up in .venv: `make demo` needs the core dependencies, the rest the development ones.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-slow backends check corpus bench lock clean help

help:
	@echo "make demo    the broker incident, start to finish, offline"
	@echo "make test    the test suite (under 5 minutes on 2 cores)"
	@echo "make backends  a real Collector, Jaeger, Kafka and Phoenix for the slow tests (needs Go, Java, Maven; minutes)"
	@echo "make check   lint, types, import contracts, README blocks"
	@echo "make corpus  what is read of 178 runs of 30 instrumentations: exact, rebuilt, unusable, wrong"
	@echo "make bench   what tracetape costs, as multiples of floors (some minutes)"
	@echo "make lock    write requirements/*.lock again (needs uv)"

demo: $(VENV)/.core
	@$(BIN)/tracetape demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q -m "not slow" -n auto --dist worksteal

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -q -m slow

# Into TRACETAPE_BACKENDS, by default tracetape/backends in the user's cache folder; what is there already stays.
backends: $(VENV)/.dev
	$(BIN)/python -m tests.backends.build

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/house

corpus: $(VENV)/.dev
	$(BIN)/python -m tests.corpus

bench: $(VENV)/.dev
	$(BIN)/python bench/run.py --compare

lock:
	requirements/lock.sh

clean:
	rm -rf $(VENV) .venvs build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "tracetape needs Python 3.11 or newer; $(PYTHON) is older or missing." >&2; \
	  echo "On Debian 12 or Ubuntu:  sudo apt-get install -y python3 python3-venv make" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv module is missing." >&2; \
	  echo "On Debian 12 or Ubuntu:  sudo apt-get install -y python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.core: requirements/core.lock pyproject.toml | $(VENV)/bin/python
	@echo "installing the core dependencies into $(VENV)"
	@$(PIP) install --require-hashes -r requirements/core.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.lock $(VENV)/.core
	@echo "installing the development dependencies into $(VENV)"
	@$(PIP) install --require-hashes -r requirements/dev.lock
	@touch $@
