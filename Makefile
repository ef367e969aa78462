# Everything is installed into .venv, which the targets create if it is missing.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help

.PHONY: help demo check test lint docs bench clean browser java

help:            ## list the targets
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*## /	/'

demo: .venv/installed ## find the similar documents in examples/documents
	$(BIN)/lookalike demo

# For use while working: takes about a minute and a half and installs nothing outside .venv.
check: .venv/installed-dev lint ## run the linters and the quick tests
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow and not spark and not browser and not server"

test: .venv/installed-dev lint browser java ## run the linters and all tests
	$(BIN)/pytest -n 2 --dist worksteal

lint: .venv/installed-dev ## run the linters: style, types and import order
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

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
	rm -rf .venv dist build site docs/reference .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/installed: pyproject.toml
	@echo "setting up .venv, once; this takes a minute"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

.venv/installed-bench: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

.venv/installed-docs: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@
