# Everything starts here, on a fresh machine: `make test` and `make demo` set up their own environment.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: test demo lint format clean
.DELETE_ON_ERROR:

test: $(VENV)/.ready            ## install and run the whole suite with branch coverage
	$(BIN)/python -m pytest --cov --cov-report=term

demo: $(VENV)/.ready            ## install and train something small worth looking at
	$(BIN)/python -m tasks.demo

lint: $(VENV)/.ready            ## what CI asks of the style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "minisets needs Python 3.11 or later; $(PYTHON) is %d.%d: try make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) runs .pytest_cache .hypothesis .ruff_cache .coverage *.egg-info
