# make demo    two models before and after, on the real runtime
# make test    lint, type check, all tests
# make sanitize  the tests of planner and runtime with sanitizers in both extension modules
# make bench   benchmarks/results.md, on two versions of ExecuTorch; plans for microcontrollers
# make speed   how long `onearena optimize` takes, and how much memory
# make bench-planner  benchmarks/planner/results.md: the planner alone, against others
# make bench-engine  the native runtime: latency, time to load, memory, other shapes
# make bench-cortex  plans for Cortex-M and Ethos-U beside the exporter's
# make bench-report  how quick the HTML report is, in a browser (Chromium)
# make docs    the documentation site, into site/
# make changelog  what the fragments in changes/ become
# make wheel   sdist and wheel into dist/, tried in an environment of their own
# make fuzz    mutated files against the file layer
# make clean   remove what the others made
#
# Nothing needs to be installed but Python (with venv), make and a C++17 compiler.

PYTHON ?= python3
# More arguments for every `pip install`, such as an index with CPU-only builds of torch.
PIP_FLAGS ?=
BENCH_FLAGS ?=
# So many processes share the tests; each may need 4 GB.
TEST_JOBS ?= 2
FUZZ_COUNT ?= 200000
FUZZ_JOBS ?= 2

VENV := .venv
OLD_VENV := .venv-1.4.1
CACHE := .cache

PY := $(VENV)/bin/python
OLD_PY := $(OLD_VENV)/bin/python
PIP_INSTALL = -m pip install --quiet --disable-pip-version-check $(PIP_FLAGS)
CODE := src tests benchmarks examples tools
# What the compiled planner and runtime are made of: a change there installs it again.
CPP_BUILD := $(wildcard CMakeLists.txt cpp/CMakeLists.txt cpp/include/onearena/*.h cpp/src/* \
  cpp/verify/* cpp/python/* cpp/runtime/CMakeLists.txt cpp/runtime/include/onearena/*.h \
  cpp/runtime/src/* cpp/runtime/python/*)
CPP := $(shell find cpp tests -name "*.h" -o -name "*.cc" -o -name "*.c")

.DELETE_ON_ERROR:
# Two pips must not work on one environment at a time.
.NOTPARALLEL:
.PHONY: help demo test sanitize bench bench-planner bench-engine bench-cortex bench-report speed docs changelog wheel \
  fuzz clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(VENV)/.zoo
	$(PY) -m examples.demo --cache $(CACHE)/demo

test: $(VENV)/.dev
	$(PY) -m ruff check $(CODE)
	$(PY) -m ruff format --check $(CODE)
	$(PY) -m mypy $(CODE)
	$(VENV)/bin/clang-format --style=file:cpp/.clang-format --dry-run -Werror $(CPP)
	$(PY) -m pytest -n $(TEST_JOBS) --dist loadfile --no-loadscope-reorder

sanitize: $(VENV)/.dev
	$(PY) -m tests.sanitized

bench: $(VENV)/.zoo $(VENV)/.dev $(OLD_VENV)/.run
	$(PY) -m benchmarks.bench --cache $(CACHE)/bench --old $(OLD_PY) $(BENCH_FLAGS)
	$(PY) -m examples.cortex_m.table
	$(PY) -m examples.ethos_u.table

bench-planner: $(VENV)/.planner
	$(PY) -m benchmarks.planner $(BENCH_FLAGS)

bench-engine: $(VENV)/.zoo $(VENV)/.dev
	$(PY) -m benchmarks.zoo.export --out $(CACHE)/engine
	$(PY) -m benchmarks.engine $(CACHE)/engine
	$(PY) -m benchmarks.engine_memory $(CACHE)/engine
	$(PY) -m benchmarks.engine_shapes

bench-cortex: $(VENV)/.dev
	$(PY) -m examples.cortex_m.table
	$(PY) -m examples.ethos_u.table

bench-report: $(VENV)/.dev
	$(PY) -m benchmarks.report_speed

speed: $(VENV)/.zoo
	$(PY) -m benchmarks.speed --cache $(CACHE)/bench

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

changelog: $(VENV)/.dev
	$(PY) -m tools.changelog

wheel: $(VENV)/.dev
	$(PY) -m tools.wheel

fuzz: $(VENV)/.dev
	$(PY) -m benchmarks.fuzz --count $(FUZZ_COUNT) --jobs $(FUZZ_JOBS)

clean:
	rm -rf $(VENV) $(OLD_VENV) $(CACHE) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Environments. A file in each says what was installed, so that nothing is installed twice.

$(VENV)/.run: requirements/run.txt requirements/build.txt pyproject.toml $(CPP_BUILD) | $(PY)
	@echo "installing torch and executorch into $(VENV), this takes minutes"
	$(PY) $(PIP_INSTALL) -r requirements/run.txt -r requirements/build.txt
	$(PY) $(PIP_INSTALL) --no-build-isolation -e '.[run]'
	@touch $@

$(VENV)/.dev: requirements/dev.txt requirements/browser.txt requirements/docs.txt \
    requirements/cortex-m-tools.txt requirements/hugging-face.txt $(VENV)/.run
	$(PY) $(PIP_INSTALL) -r requirements/dev.txt -r requirements/browser.txt -r requirements/docs.txt
	$(PY) $(PIP_INSTALL) --no-deps -r requirements/cortex-m-tools.txt -r requirements/hugging-face.txt
	@touch $@

$(VENV)/.planner: requirements/planner.txt $(VENV)/.run
	$(PY) $(PIP_INSTALL) -r requirements/planner.txt
	@touch $@

$(VENV)/.zoo: requirements/zoo.txt requirements/zoo-files.txt $(VENV)/.run
	$(PY) $(PIP_INSTALL) -r requirements/zoo.txt
	$(PY) $(PIP_INSTALL) --no-deps -r requirements/zoo-files.txt
	@touch $@

$(OLD_VENV)/.run: requirements/run-1.4.1.txt | $(OLD_PY)
	@echo "installing torch and executorch into $(OLD_VENV), this takes minutes"
	$(OLD_PY) $(PIP_INSTALL) -r $<
	@touch $@

$(PY) $(OLD_PY):
	$(PYTHON) -m venv $(patsubst %/bin/python,%,$@)
