# Everything from a bare clone: `make run` trains in the laboratory, `make test` runs the tests.
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed
# The environment's own bin comes first on PATH, so that tools DeepSpeed starts (ninja) are its own too.
IN_VENV := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

.PHONY: run test lint venv console clean

run: $(STAMP)
	$(IN_VENV) python -m training.run $(ARGS)

test: lint
	$(IN_VENV) python -m pytest -q $(ARGS)

lint: $(STAMP)
	$(IN_VENV) ruff check .
	$(IN_VENV) ruff format --check .
	$(IN_VENV) mypy memory agents training ui

console: $(STAMP)
	$(IN_VENV) streamlit run ui/console.py

venv: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(0 if sys.version_info >= (3, 11) else 'HarnessRL needs Python 3.11 or newer, got ' + sys.version.split()[0] + '; use make PYTHON=python3.11')"
	$(PYTHON) -m venv $(VENV)
	$(IN_VENV) pip install --quiet -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) *.egg-info
