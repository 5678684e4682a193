# Set-up is in two commands: `make demo` and `make test`. Each makes .venv by itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test delivery lint types imports index check bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The package is installed in place; the stamp is renewed when pyproject.toml changes.
$(STAMP): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

# Lints the bundled examples. They hold gaps on purpose: gaplint exits with 1, and anything else is a failure.
demo: $(STAMP)
	@$(BIN)/gaplint fixtures/demo; status=$$?; \
	echo; echo "gaplint exited with $$status: the examples hold gaps on purpose"; test $$status -eq 1

test: $(STAMP)
	$(BIN)/python -m pytest -n auto

# What is slow and needs a package index: the hooks with pre-commit itself, wheel and sdist in a fresh environment.
delivery: $(STAMP)
	$(BIN)/python -m pytest -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports

index: $(STAMP)
	$(BIN)/python tools/index_rules.py
	$(BIN)/python tools/show_schema.py

check: lint types imports
	$(BIN)/python tools/index_rules.py --check
	$(BIN)/python tools/show_schema.py --check
	$(BIN)/python tools/accuracy page --check

bench: $(STAMP)
	$(BIN)/python bench/run.py

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
