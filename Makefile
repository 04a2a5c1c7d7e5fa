# Everything starts here, on a fresh machine: `make test` and `make demo` set up their own environment.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
OLDEST := build/oldest
comma  := ,

.PHONY: help test test-faults test-gpu test-mpi test-page test-plain test-oldest zoo demo play tables figures docs notebooks
.PHONY: lint format clean
.DELETE_ON_ERROR:

help:                           ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

test: $(VENV)/.ready            ## install and run the whole suite with branch coverage
	$(BIN)/python -m pytest -n auto --cov --cov-report=term

test-faults: $(VENV)/.ready     ## thousands of damaged files, killed runs and bad servers; updates docs/faults.md
	FAULTS=full $(BIN)/python -m pytest -n auto -vv -m faults tests/faults

test-gpu: $(VENV)/.ready-gpu    ## install CuPy and prove the GPU path: on a GPU, or on CuPy emulated on the host
	$(BIN)/python -m pytest -n $(if $(shell command -v nvidia-smi),0,auto) tests/gpu

test-mpi: $(VENV)/.ready-mpi    ## install Open MPI and test sweeps and distributed training under mpiexec
	$(BIN)/python -m pytest tests/mpi

test-page: $(VENV)/.ready-page  ## install Chromium's driver and play with the page of minisets play in a real browser
	$(BIN)/python -m pytest tests/page

zoo: $(VENV)/.ready             ## twenty seeds of every wrong and right network of tests/zoo; updates docs/08-testing.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[torch]' jax
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.zoo --seeds 20 --write

test-plain: $(VENV)/.ready      ## the suite as if the folders of faster forms had been deleted
	PYTHONPATH=tests/helpers/without_fast $(BIN)/python -m pytest -n auto

test-oldest: $(OLDEST)/.ready   ## the suite with the oldest versions of NumPy and all else that pyproject.toml allows
	$(OLDEST)/bin/python -m pytest -n auto

demo: $(VENV)/.ready            ## install, train a Set Transformer to cluster (about two minutes) and plot the result
	rm -rf runs/demo
	$(BIN)/minisets train clustering --preset quick --arch "ISAB (16) + PMA" --out runs/demo

play: $(VENV)/.ready            ## a page in your browser on which trained networks work live
	$(BIN)/minisets play

tables: $(VENV)/.ready          ## update the tables of docs/results, README.md and chapters 22 and 24 from what is stored
	@for task in $$($(BIN)/python -c 'from tasks.harness.experiment import NAMES; print(*NAMES)'); do \
	    $(BIN)/minisets table $$task --runs docs/results/$$task --format markdown > docs/results/$$task.md || exit 1; \
	done
	$(BIN)/minisets reproduce --runs docs/results --format markdown > docs/results/rows.md
	$(BIN)/python -m tasks.reproduce.readme
	$(BIN)/python -m tasks.bench.scaling_tables
	$(BIN)/python -m tasks.bench.speed_tables

figures: $(VENV)/.ready         ## update the figures of docs/results from the runs stored there
	$(BIN)/python -m tasks.plots.stored

docs: $(VENV)/.ready-docs       ## the book as a web site, in build/docs; links are checked, and warnings are errors
	$(BIN)/python -m docs.pictures --check
	$(BIN)/python -m docs.site

notebooks: $(VENV)/.ready-docs  ## the book as notebooks, in build/notebooks; runs them all, and the site in Chromium
	$(BIN)/python -m docs.site.notebooks build/notebooks
	$(BIN)/python -m pytest -m "notebooks or browser" tests/docs

lint: $(VENV)/.ready            ## check the style and the types, as CI does
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready          ## fix the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "minisets needs Python 3.11 or later; $(PYTHON) is %d.%d: try make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(OLDEST)/.ready: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(PYTHON) -m tests.helpers.oldest > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -r $(OLDEST)/oldest.txt -e '.[test,interop,modelnet]'
	@touch $@

# Where there is a GPU the tests run on it, in one process, because each would take memory for a context of its own; and
# they need the CUDA libraries too.
$(VENV)/.ready-gpu: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[gpu-test$(if $(shell command -v nvidia-smi),$(comma)gpu)]'
	@touch $@

$(VENV)/.ready-mpi: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[mpi]'
	@touch $@

$(VENV)/.ready-docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

# Debian's Chromium and its driver, where there is none; on other systems install both yourself.
$(VENV)/.ready-page: $(VENV)/.ready
	@command -v chromedriver > /dev/null || { sudo=$$(command -v sudo || true); $$sudo apt-get update -qq && $$sudo apt-get install -y -qq chromium chromium-driver; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[page]'
	@touch $@

clean:                          ## remove everything that was generated
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
	rm -rf $(VENV) build runs .pytest_cache .hypothesis .ruff_cache .mypy_cache .coverage *.egg-info
