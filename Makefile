# All set-up happens in .venv, which the targets make when it is missing.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help

.PHONY: help demo check test lint docs bench clean browser java

help:            ## list the targets
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*## /	/'

demo: .venv/installed ## find the similar documents in examples/documents
	$(BIN)/lookalike demo

# What to run while working: it takes about a minute and installs nothing but what .venv holds.
check: .venv/installed-dev lint ## run the linters and the quick tests
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow and not spark and not browser and not server"

test: .venv/installed-dev lint browser java ## run the linters and all tests
	$(BIN)/pytest -n 2 --dist worksteal

lint: .venv/installed-dev ## run the linters: style, types and the layers of rooms
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

browser: # Chromium, which the tests of the page need; as root it is installed from Debian's packages
	@command -v chromium > /dev/null || { test "$$(id -u)" = 0 && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium > /dev/null; } \
		|| echo "Chromium is missing and could not be installed: the tests of the page will be skipped."

java: # which Spark runs on; as root it is installed from Debian's packages
	@command -v java > /dev/null || test -n "$$JAVA_HOME" || { test "$$(id -u)" = 0 && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless > /dev/null; } \
		|| echo "Java is missing and could not be installed: the tests of Spark will be skipped."

docs: .venv/installed-docs ## build the site of the documentation: site/index.html
	$(BIN)/sphinx-build -W --keep-going --quiet -d .venv/doctrees docs site
	@echo "the site is built: open site/index.html"

bench: .venv/installed-bench ## compare with other tools: make bench CORPUS=file.parquet
	$(BIN)/python bench/documents.py $(CORPUS)

clean: ## remove the environment and what was built
	rm -rf .venv dist build site docs/reference .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/installed: pyproject.toml
	@echo "setting up .venv, which takes a minute and is done once"
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
