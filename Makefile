# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
RUN    := $(BIN)/python
UV     := $(shell command -v uv 2>/dev/null)
EXTRAS ?= test,plot
# Numba keeps compiled kernels here, so that the second run starts at once.
export NUMBA_CACHE_DIR ?= $(CURDIR)/.cache/numba

.PHONY: demo test lint coverage bench clean

$(VENV)/installed: pyproject.toml
ifdef UV
	test -x $(RUN) || uv venv -q --python $(PYTHON) $(VENV)
	uv pip install -q --python $(RUN) -e ".[$(EXTRAS)]"
else
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install -q --disable-pip-version-check -e ".[$(EXTRAS)]"
endif
	touch $@

demo: $(VENV)/installed  ## set up, then the main job on built-in data
	$(RUN) examples/demo.py

test: $(VENV)/installed lint  ## everything that must be true
	$(RUN) -m pytest -n 2
	NUMBA_DISABLE_JIT=1 $(RUN) -m pytest -q -n 2 -m "not slow_without_jit" \
		--cov=rosenblatt --cov-report=term-missing:skip-covered

lint: $(VENV)/installed
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(BIN)/lint-imports

bench: $(VENV)/installed  ## ratios against peers, measured in one run (WHAT=one part)
	$(RUN) -m pip install -q --disable-pip-version-check -e ".[bench]"
	$(RUN) -m bench $(WHAT)

clean:
	rm -rf $(VENV) .cache build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
