# The two commands for a fresh machine: `make compile` and `make test`. Both make the virtual environment they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MANIFEST ?= manifests/glm45v-sft.yaml

.DEFAULT_GOAL := help
SNAPSHOTS := tests/test_golden.py tests/test_invalid.py tests/test_diagnostics.py tests/test_example_target.py \
  tests/trace/test_scripts.py tests/importer/test_scripts.py tests/plan/test_golden.py
.PHONY: help compile test test-torch oracle unit lint golden cluster bench clean

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
	$(BIN)/python -m pytest --ignore tests/cluster -n auto
	$(BIN)/python -m pytest tests/cluster -n 4 --dist worksteal  # mostly waiting; a Slurm for each process

test-torch: $(VENV)/.ready ## run torch itself on the Slurm of the tests: a process group over two nodes
	$(BIN)/python -m venv $(VENV)-torch
	$(VENV)-torch/bin/python -m pip install --quiet torch numpy
	JOBSPEC_TORCH=$(abspath $(VENV)-torch) $(BIN)/python -m pytest tests/torch

# ORACLE is a Python with torch, pytest, jobspec's and Bridge's requirements; MEGATRON_LM and MEGATRON_BRIDGE are checkouts.
oracle: ## ask the frameworks themselves anew: make oracle ORACLE=… MEGATRON_LM=… MEGATRON_BRIDGE=…
	PYTHONPATH=$(MEGATRON_LM):. $(ORACLE) -m tests.oracle.generate mlm 5000 "Megatron-LM d98e8a64"
	PYTHONPATH=$(MEGATRON_BRIDGE)/src:$(MEGATRON_LM):. $(ORACLE) -m tests.oracle.generate bridge 5000 \
	  "Megatron-Bridge 067f987d with Megatron-LM d98e8a64"
	PYTHONPATH=. $(ORACLE) -m tests.oracle.memory $(MEGATRON_LM) $(MEGATRON_BRIDGE) \
	  "Megatron-LM d98e8a64 and Megatron-Bridge 067f987d"
	PYTHONPATH=$(MEGATRON_LM):. $(ORACLE) -m tests.oracle.groups "Megatron-LM d98e8a64"

unit: $(VENV)/.ready ## run the tests that need no Slurm, in seconds
	$(BIN)/python -m pytest --ignore tests/cluster -n auto

lint: $(VENV)/.ready ## run ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

golden: $(VENV)/.ready ## write the golden files and the two catalogues in docs anew; review the diff
	$(BIN)/jobspec explain --all > docs/diagnostics.md
	$(BIN)/jobspec diagnose --list > docs/failures.md
	$(BIN)/jobspec plan manifests/glm45v-sft.yaml --svg docs/plan.svg > /dev/null
	$(BIN)/python -m pytest $(SNAPSHOTS) --snapshot-update -q

cluster: $(VENV)/.ready ## a Slurm of four pretended nodes to play with, in a shell; it goes when the shell ends
	@$(BIN)/python -m tests.cluster.play

bench: $(VENV)/.ready ## measure start-up and throughput
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.bulk
	$(BIN)/python -m benchmarks.diagnose
	$(BIN)/python -m benchmarks.trace
	$(BIN)/python -m benchmarks.importer
	$(BIN)/python -m benchmarks.losses
	$(BIN)/python -m benchmarks.plan
	$(BIN)/python -m benchmarks.submit

clean: ## remove what the commands above have made
	rm -rf $(VENV) $(VENV)-torch build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
