# Set-up is in two commands: `make demo` and `make test`. Each makes .venv by itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.docs-installed

.PHONY: demo test delivery docs lint types imports index check bench fuzz mutants clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The package is installed in place; the stamp is renewed when pyproject.toml changes.
$(STAMP): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

# What only the documentation needs is installed when it is built or tested.
$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

# Lints the bundled examples. They hold gaps on purpose: gaplint exits with 1, and anything else is a failure.
demo: $(STAMP)
	@$(BIN)/gaplint fixtures/demo; status=$$?; \
	echo; echo "gaplint exited with $$status: the examples hold gaps on purpose"; test $$status -eq 1

test: $(STAMP)
	$(BIN)/python -m pytest -n auto

# What is slow and needs a package index: the hooks with pre-commit itself, wheel and sdist in a fresh environment, the
# documentation in a browser (chromium and chromedriver; without them those tests are skipped).
delivery: $(STAMP) $(DOCS_STAMP)
	$(BIN)/python -m pytest -m slow

# The documentation site, in build/site.
docs: $(DOCS_STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "to read it: $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site"

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

# Random inputs for the readers, Kustomize and the fixes; inputs that fail are kept in fuzz-findings/.
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0
fuzz: $(STAMP)
	$(BIN)/python tools/fuzz/run.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

# Changes one thing at a time in the most important modules; each change must be noticed by a test, or be accepted.
mutants: $(STAMP)
	$(BIN)/python tools/mutants.py

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
