# The two commands for a fresh machine: `make compile` and `make test`. Both make the virtual environment they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MANIFEST ?= manifests/glm45v-sft.yaml

.DEFAULT_GOAL := help
.PHONY: help compile test unit lint golden cluster docs bench clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

# One virtual environment: first the package alone, then with the tools of the tests. `--group` needs pip 25.1.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.ready: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

compile: $(VENV)/.installed ## compile a manifest: make compile MANIFEST=manifests/glm45v-sft.yaml
	@$(BIN)/jobspec compile $(MANIFEST)

test: lint $(VENV)/.ready ## run everything: lint, unit tests, and the scripts on a real Slurm where its packages are installed
	$(BIN)/python -m pytest

unit: $(VENV)/.ready ## run the tests that need no Slurm, in seconds
	$(BIN)/python -m pytest --ignore tests/cluster -n auto

lint: $(VENV)/.ready ## run ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

golden: $(VENV)/.ready ## write the golden files anew; review the diff
	$(BIN)/python -m pytest --ignore tests/cluster --snapshot-update -q

docs: $(VENV)/.ready ## write the catalogues of diagnostics and of failures anew
	$(BIN)/jobspec explain --all > docs/diagnostics.md
	$(BIN)/jobspec diagnose --list > docs/failures.md

cluster: $(VENV)/.ready ## a Slurm of four pretended nodes to play with, in a shell; it goes when the shell ends
	@$(BIN)/python -m tests.cluster.play

bench: $(VENV)/.ready ## measure start-up and throughput
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.bulk
	$(BIN)/python -m benchmarks.diagnose

clean: ## remove what the commands above have made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
