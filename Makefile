# Everything is installed into .venv, which the targets create if it is missing.
PYTHON ?= python3
BIN := .venv/bin
QUICK := -m "not slow and not spark and not browser and not server"
MINUTES ?= 10
unexport PYTHONDONTWRITEBYTECODE # tests start many processes, which would all compile our modules again
.DEFAULT_GOAL := help

.PHONY: help demo check test test-bounds test-lowest test-gpu fuzz lint docs bench clean browser java

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*## /	/'

demo: .venv/installed ## find the similar documents in examples/documents
	$(BIN)/lookalike demo

# For use while working: takes about three minutes on two cores and installs nothing outside .venv.
check: .venv/installed-dev lint ## run the linters and the quick tests
	$(BIN)/pytest -n 2 --dist worksteal $(QUICK)

# Three processes keep two cores busy: that with the tests on Spark waits for Java most of the time.
test: .venv/installed-dev lint browser java ## run the linters and all tests
	$(BIN)/pytest -n 3 --dist worksteal

lint: .venv/installed-dev ## run the linters: style, types and import order
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

fuzz: .venv/installed-dev ## give damaged files and requests to lookalike: make fuzz MINUTES=10
	$(BIN)/python -m fuzz --minutes $(MINUTES)

# Checks every index into an array; slow, so it leaves out tests that start processes or take long.
test-bounds: .venv/installed-dev ## run the quick tests with compiled code that checks bounds
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.venv/bounds $(BIN)/pytest -n 2 --dist worksteal $(QUICK)

test-lowest: .venv-lowest/installed ## run the quick tests with the oldest packages that lookalike supports
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/numba .venv-lowest/bin/pytest -n 2 --dist worksteal $(QUICK)

test-gpu: .venv-gpu/installed ## run the tests that need a CUDA card
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-gpu/numba .venv-gpu/bin/pytest -m cuda tests

browser: # Chromium, for the browser tests; as root it is installed from Debian's packages
	@command -v chromium > /dev/null || { test "$$(id -u)" = 0 && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium > /dev/null; } \
		|| echo "Chromium is missing and could not be installed: the browser tests will be skipped."

java: # Java, for the Spark tests; as root it is installed from Debian's packages
	@command -v java > /dev/null || test -n "$$JAVA_HOME" || { test "$$(id -u)" = 0 && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless > /dev/null; } \
		|| echo "Java is missing and could not be installed: the Spark tests will be skipped."

docs: .venv/installed-docs ## build the documentation site: site/index.html
	$(BIN)/sphinx-build -W --keep-going --quiet -d .venv/doctrees docs site
	@echo "the site is built: open site/index.html"

bench: .venv/installed-bench ## compare with other tools: make bench CORPUS=file.parquet
	$(BIN)/python bench/documents.py $(CORPUS)

clean: ## remove the environment and all build outputs
	rm -rf .venv .venv-lowest .venv-gpu dist build site docs/reference .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/installed: pyproject.toml
	@echo "setting up .venv, once; this takes a minute"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

# Modules are compiled when they are first imported: few of all those in the packages for developers are.
.venv/installed-dev: pyproject.toml
	@echo "setting up .venv, once; this takes a minute"
	test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	touch .venv/installed $@

.venv/installed-bench: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

.venv/installed-docs: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

.venv-lowest/installed: pyproject.toml constraints/lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check --constraint constraints/lowest.txt --editable '.[dev]'
	touch $@

.venv-gpu/installed: pyproject.toml
	$(PYTHON) -m venv .venv-gpu
	.venv-gpu/bin/pip install --quiet --disable-pip-version-check --editable '.[dev,gpu]'
	touch $@
