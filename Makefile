# Every target makes its own environment: a fresh clone needs Python >= 3.11 and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
RESOLVE := uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
  --strip-extras --no-header
INSTALL_SELF := $(PIP) --no-build-isolation --editable
DATA := $(wildcard ../shared/datasets)
ifneq ($(DATA),)
export KERNSEMBLE_DATA ?= $(abspath $(DATA))
endif

.DEFAULT_GOAL := help
FAST := tests/theorems tests/hypotheses tests/kernels tests/test_docs.py tests/test_files.py

# two processes of tests with two threads of BLAS each would wait for each other
fast rest coverage: export OPENBLAS_NUM_THREADS = 1

.PHONY: help demo reproduce test fast lint types rest coverage slow fuzz docs bench lock audit clean

help:  ## list these commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/demo.stamp  ## a leaderboard against forests and boosting, and demo-report.html
	$(BIN)/python examples/demo.py

reproduce: $(VENV)/reproduce.stamp  ## the papers' tables and figures, quickly: reproduction/index.html
	$(BIN)/kernsemble reproduce all --quick

test: fast rest docs  ## the fast lane first, then all other tests and the documentation

fast: lint types  ## the fast lane: lint, types and the quick tests, in under two minutes
	$(BIN)/python -m pytest -q -n 2 $(FAST)

rest: $(VENV)/dev.stamp  ## all tests that are not in the fast lane
	$(BIN)/python -m pytest -n 2 tests src README.md $(addprefix --ignore=,$(FAST))

coverage: $(VENV)/dev.stamp  ## the tests again without compilation, to measure coverage
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 2 tests --cov --cov-report=term \
	  --ignore-glob='*/test_contract.py' --ignore=tests/theorems \
	  -m "not slow and not paper and not large"

slow: $(VENV)/dev.stamp  ## list the tests that are marked as slow, which no other target runs
	$(BIN)/python -m pytest -q --collect-only tests -m slow

fuzz: $(VENV)/dev.stamp  ## 100,000 calls with hostile data; continues the run in fuzz.jsonl
	PYTHONPATH=tests $(BIN)/python -m fuzz.driver --cases 100000

lint: $(VENV)/dev.stamp  ## format, lint, layers, spelling
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/codespell
	$(BIN)/lint-imports

types: $(VENV)/dev.stamp  ## static types
	$(BIN)/mypy

docs: $(VENV)/dev.stamp  ## run the documentation's programs, build it (warnings are errors), check the pages
	$(BIN)/python -m pytest -q -o addopts= --doctest-glob='*.md' docs
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html
	$(BIN)/python -m pytest -q docs/check_pages.py

bench: $(VENV)/dev.stamp  ## run every benchmark
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

lock:  ## resolve constraints.txt and requirements.lock again (needs uv on the path)
	$(RESOLVE) --all-extras --no-annotate --upgrade -o constraints.txt
	cp constraints.txt requirements.lock  # the versions that the next line keeps
	$(RESOLVE) --extra all --generate-hashes -o requirements.lock

audit:  ## known vulnerabilities of the packages in requirements.lock (needs uv and the network)
	uv tool run pip-audit --strict --disable-pip --requirement requirements.lock

clean:  ## remove the environment and everything built
	rm -rf $(VENV) docs/_build docs/auto_examples docs/reference/generated demo-report.html \
	  reproduction fuzz.jsonl

$(VENV)/base.stamp: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kernsemble needs Python 3.11 or newer; try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) pip
	$(PIP) hatchling editables
	touch $@

$(VENV)/demo.stamp: $(VENV)/base.stamp pyproject.toml
	$(INSTALL_SELF) ".[demo]"
	touch $@

$(VENV)/reproduce.stamp: $(VENV)/base.stamp pyproject.toml
	$(INSTALL_SELF) ".[cli,plot,report]"
	touch $@

$(VENV)/dev.stamp: $(VENV)/base.stamp pyproject.toml
	$(INSTALL_SELF) ".[all]" --group dev
	touch $@
