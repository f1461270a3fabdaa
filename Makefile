# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
RUN    := $(BIN)/python
UV     := $(shell command -v uv 2>/dev/null)
EXTRAS ?= plot,river,widget,dask
# What the oldest versions must pass: the algorithms, their evidence and their faces.
LOWEST ?= tests/test_published.py tests/test_estimators.py tests/test_trace.py tests/test_model.py \
	tests/test_river.py tests/evidence/test_proof.py tests/read tests/page/test_own_data.py
# Numba keeps compiled kernels here, so that the second run starts at once.
export NUMBA_CACHE_DIR ?= $(CURDIR)/.cache/numba
# The published data sets, where they lie beside the clone.
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

# What learning from a file needs, and nothing else: it is there in seconds.
$(VENV)/core: pyproject.toml
	test -x $(RUN) || $(NEW) $(VENV)
	$(INSTALL) --upgrade "pip>=25.1"  # older ones know no dependency groups
	$(INSTALL) -e .
	touch $@

$(VENV)/installed: $(VENV)/core
	$(INSTALL) -e ".[$(EXTRAS)]" --group test --group notebooks
	touch $@

demo: $(VENV)/core  ## set up, then the main job on built-in data
	mkdir -p build
	$(BIN)/rosenblatt learn -o build/credit.json --report

SUITE := $(RUN) -m pytest -q -n 2

test: $(VENV)/installed lint  ## linters, types, and the test suite once
	$(SUITE)

test-all: test without-jit lowest generic  ## what CI runs

without-jit: $(VENV)/installed  ## kernels as plain Python, with coverage
	NUMBA_DISABLE_JIT=1 $(SUITE) -m "not slow_without_jit" \
		--cov=rosenblatt --cov-report=term-missing:skip-covered

elsewhere: generic blas busy  ## the suite as other processors and a busy machine would run it

# Tests that count what they try, with so many times as many cases; their counts end the run.
TIMES ?= 5
TRIED ?= $(shell grep -rl "^from tried import" tests)
tried: $(VENV)/installed  ## hostile data, forged proofs, damaged files and kills, many more of them
	ROSENBLATT_TRY=$(TIMES) $(SUITE) $(TRIED)

suite: $(VENV)/installed  ## the test suite once, without linters
	$(SUITE)

generic: $(VENV)/installed  ## kernels compiled for any processor of this kind
	NUMBA_CPU_NAME=generic $(SUITE)

# The oldest kernel of BLAS that every processor of this kind can run.
CORE ?= $(if $(filter x86_64 amd64,$(shell uname -m)),Prescott,ARMV8)
blas: $(VENV)/installed  ## another kernel of BLAS, which adds up in another order
	OPENBLAS_CORETYPE=$(CORE) $(SUITE)

busy: $(VENV)/installed  ## two busy processes a core beside it
	$(RUN) tests/beside.py $(SUITE)

# Oldest supported versions, as pip constraints; a plain pip configuration is enough to find them.
lowest: RUN = .cache/lowest/bin/python
lowest: INSTALL = $(RUN) -m pip install -q --disable-pip-version-check
lowest:  ## the oldest versions of the dependencies that the package supports
	rm -rf .cache/lowest
	$(PYTHON) -m venv .cache/lowest
	$(INSTALL) --upgrade "pip>=25.1"
	$(RUN) tests/lowest.py > .cache/lowest/constraints.txt
	$(INSTALL) -c .cache/lowest/constraints.txt -e . --group test
	$(RUN) -m pytest -q -n 2 $(LOWEST)

lint: $(VENV)/installed
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(BIN)/lint-imports

# Peers have an environment of their own: what they ask for is none of the package's business.
PEERS  ?= .cache/bench
$(PEERS)/installed: RUN = $(PEERS)/bin/python
$(PEERS)/installed: pyproject.toml
	test -x $(RUN) || $(NEW) $(PEERS)
	$(INSTALL) --upgrade "pip>=25.1"
	$(INSTALL) -e ".[dask,plot,river]" --group bench
	# FukuML asks for versions of 2017 that no longer build; its pocket runs on today's.
	$(INSTALL) --no-deps FukuML || echo "bench: no FukuML on this index; the table will say so"
	touch $@

INSTRUCTIONS ?= host generic avx2
bench: $(PEERS)/installed  ## every promise beside its peers, to bench/RESULTS.md (WHAT=one part)
	status=0; for kind in $(INSTRUCTIONS); do \
		$(PEERS)/bin/python -m bench $(WHAT) --instructions $$kind || status=1; \
	done; exit $$status

docs: $(VENV)/installed  ## the manual, strictly, into build/docs
	$(INSTALL) -e . --group docs
	$(RUN) docs/pictures.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "The manual is in build/docs/index.html."

dist: $(VENV)/installed  ## wheel and source, as a release publishes them
	$(RUN) -m build --no-isolation --outdir dist .

quotes: $(VENV)/installed  ## the figures of bench/results.json into README and manual
	$(RUN) -m bench.quotes

screenshots: $(VENV)/installed  ## pictures of the page for the README, into docs/images
	$(RUN) docs/screenshots.py
	$(RUN) docs/animation.py

clean:
	rm -rf $(VENV) .cache build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
