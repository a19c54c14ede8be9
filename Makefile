# Everything from a bare clone: `make run` trains in the laboratory, `make test` runs the tests.
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed
# The environment's own bin comes first on PATH, so that tools DeepSpeed starts (ninja) are its own too.
IN_VENV := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

.PHONY: run test lint browser venv console demo clean

run: $(STAMP)
	$(IN_VENV) python -m training.run $(ARGS)

test: lint browser
	$(IN_VENV) python -m pytest -q $(ARGS)

lint: $(STAMP)
	$(IN_VENV) ruff check .
	$(IN_VENV) ruff format --check .
	$(IN_VENV) mypy memory agents training ui

# The console's tests look through a real browser: finds one, or installs Debian's.
browser:
	.ci/browser

console: $(STAMP)
	$(IN_VENV) streamlit run ui/console.py

# The run that the console shows before there is another: trained anew, about 2 minutes.
demo: $(STAMP)
	rm -rf build/demo ui/demo
	$(IN_VENV) python -m training.run --config configs/demo.yaml --run-dir build/demo
	$(IN_VENV) python -m ui.excerpt build/demo --out ui/demo

venv: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(0 if sys.version_info >= (3, 11) else 'HarnessRL needs Python 3.11 or newer, got ' + sys.version.split()[0] + '; use make PYTHON=python3.11')"
	$(PYTHON) -m venv $(VENV)
	$(IN_VENV) pip install --quiet -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) *.egg-info
