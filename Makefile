# On a new machine, start with `make demo` or `make test`; both install what they need.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
RUN    := $(BIN)/python
UV     := $(shell command -v uv 2>/dev/null)
EXTRAS ?= plot,river,widget,dask
# Tests that run with the oldest supported versions: algorithms, proofs and interfaces.
LOWEST ?= tests/algorithms/test_published.py tests/estimators/test_estimators.py tests/test_trace.py \
	tests/test_model.py tests/test_river.py tests/evidence/test_proof.py tests/read tests/page/test_own_data.py
# Numba caches compiled kernels here, so that later runs start faster.
export NUMBA_CACHE_DIR ?= $(CURDIR)/.cache/numba
# The folder of the published data sets, if it is beside the clone.
ifneq ($(wildcard ../shared/data),)
export ROSENBLATT_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test test-all without-jit tried suite dist elsewhere generic blas busy lowest lint bench docs quotes screenshots clean

ifdef UV
INSTALL  = $(UV) pip install -q --python $(RUN)
NEW     := $(UV) venv -q --seed --python $(PYTHON)
else
INSTALL  = $(RUN) -m pip install -q --disable-pip-version-check
NEW     := $(PYTHON) -m venv
endif

# The core dependencies alone, which install in seconds.
$(VENV)/core: pyproject.toml
	test -x $(RUN) || $(NEW) $(VENV)
	$(INSTALL) --upgrade "pip>=25.1"  # older versions do not support dependency groups
	$(INSTALL) -e .
	touch $@

$(VENV)/installed: $(VENV)/core
	$(INSTALL) -e ".[$(EXTRAS)]" --group test --group notebooks
	touch $@

demo: $(VENV)/core  ## install, and run `rosenblatt learn` on the built-in data set
	mkdir -p build
	$(BIN)/rosenblatt learn -o build/credit.json --report

SUITE := $(RUN) -m pytest -q -n 2

test: $(VENV)/installed lint  ## linters, type checker and test suite
	$(SUITE)

test-all: test without-jit lowest generic  ## everything that CI runs

without-jit: $(VENV)/installed  ## test suite with kernels as plain Python, with coverage
	NUMBA_DISABLE_JIT=1 $(SUITE) -m "not slow_without_jit" \
		--cov=rosenblatt --cov-report=term-missing:skip-covered

elsewhere: generic blas busy  ## test suite as on other processors and on a busy machine

# Randomized tests that count their cases, with TIMES as many cases; the counts are printed last.
TIMES ?= 5
TRIED ?= $(shell grep -rl "^from case_counts import" tests)
tried: $(VENV)/installed  ## more cases of hostile data, forged proofs, damaged files and killed processes
	ROSENBLATT_TRY=$(TIMES) $(SUITE) $(TRIED)

suite: $(VENV)/installed  ## test suite without linters
	$(SUITE)

generic: $(VENV)/installed  ## test suite with kernels compiled for a generic processor
	NUMBA_CPU_NAME=generic $(SUITE)

# The oldest BLAS kernel, which every processor of the architecture can run.
CORE ?= $(if $(filter x86_64 amd64,$(shell uname -m)),Prescott,ARMV8)
blas: $(VENV)/installed  ## test suite with another BLAS kernel, which sums in another order
	OPENBLAS_CORETYPE=$(CORE) $(SUITE)

busy: $(VENV)/installed  ## test suite while two busy processes per core compete with it
	$(RUN) tests/project/run_while_busy.py $(SUITE)

# The oldest supported versions are passed to pip as constraints.
lowest: RUN = .cache/lowest/bin/python
lowest: INSTALL = $(RUN) -m pip install -q --disable-pip-version-check
lowest:  ## tests with the oldest supported versions of the dependencies
	rm -rf .cache/lowest
	$(PYTHON) -m venv .cache/lowest
	$(INSTALL) --upgrade "pip>=25.1"
	$(RUN) tests/project/oldest_versions.py > .cache/lowest/constraints.txt
	$(INSTALL) -c .cache/lowest/constraints.txt -e . --group test
	$(RUN) -m pytest -q -n 2 $(LOWEST)

lint: $(VENV)/installed
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(BIN)/lint-imports

# Peers are installed in a separate environment, because they pin versions of other packages.
PEERS  ?= .cache/bench
$(PEERS)/installed: RUN = $(PEERS)/bin/python
$(PEERS)/installed: pyproject.toml
	test -x $(RUN) || $(NEW) $(PEERS)
	$(INSTALL) --upgrade "pip>=25.1"
	$(INSTALL) -e ".[dask,plot,river]" --group bench
	# FukuML pins versions of 2017 that no longer build; its pocket runs with current ones.
	$(INSTALL) --no-deps FukuML || echo "bench: FukuML is not on this index and will be skipped"
	touch $@

INSTRUCTIONS ?= host generic avx2
bench: $(PEERS)/installed  ## benchmark against the peers, into bench/RESULTS.md (WHAT=one part)
	status=0; for kind in $(INSTRUCTIONS); do \
		$(PEERS)/bin/python -m bench $(WHAT) --instructions $$kind || status=1; \
	done; exit $$status

docs: $(VENV)/installed  ## build the manual into build/docs; warnings are errors
	$(INSTALL) -e . --group docs
	$(RUN) docs/pictures.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "The manual is in build/docs/index.html."

dist: $(VENV)/installed  ## wheel and source distribution of a release
	$(RUN) -m build --no-isolation --outdir dist .

quotes: $(VENV)/installed  ## copy the figures of bench/results.json into README and manual
	$(RUN) -m bench.quotes

screenshots: $(VENV)/installed  ## draw the screenshots and the animation in docs/images
	$(RUN) docs/screenshots.py

clean:
	rm -rf $(VENV) .cache build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
