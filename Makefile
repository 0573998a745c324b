# `make demo` and `make test` do everything from a fresh clone: they create .venv themselves.
PYTHON ?= python3
BIN := .venv/bin
# Bytecode is kept for the processes that tests start; what the tests of a file share is made once, not once
# on each core.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

.PHONY: demo test test-long test-oldest-optuna lint format docs bench clean

demo: .venv/.installed
	$(BIN)/python -m unbribable demo --out results/demo

test: .venv/.installed
	$(PYTEST) -m "not long"

# Coverage of the guarantees over hundreds of games, killed processes, the examples and pages, a browser.
# Many wait for other processes: a third one at work while they do. Only files that have long tests are read.
test-long: .venv/.installed
	$(PYTEST) -n 3 -m long tests/long \
		$$(grep -rl --include='test_*.py' --exclude-dir=long 'mark\.long' tests)

# The oldest Optuna that brings its test suite for samplers, then the oldest that the sampler works with.
test-oldest-optuna:
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	echo '*' > .venv-oldest/.gitignore
	for version in 4.8.0 4.0.0; do \
		.venv-oldest/bin/python -m pip install --quiet --editable ".[dev,optuna]" optuna==$$version && \
		OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
			.venv-oldest/bin/python -m pytest -n 2 -q -rs tests/hosts || exit 1; \
	done

lint: .venv/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site in docs/_site: code blocks run, links are checked, warnings are errors.
docs: .venv/.installed-docs
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W --keep-going docs docs/_site

bench: .venv/.installed-bench
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

clean:
	rm -rf .venv .venv-oldest .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/_site docs/_made docs/kept docs/reference

.venv/.installed: pyproject.toml hatch_build.py src/unbribable/theory/knapsack.c
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[dev,all]"
	touch $@

.venv/.installed-docs: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable ".[dev,all,docs]"
	touch $@

# torch first and pinned: any other form of it is several gigabytes.
.venv/.installed-bench: .venv/.installed
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[dev,all,bench]"
	touch $@
