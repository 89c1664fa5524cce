# Every target sets up what it needs and is quick the second time.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
NATIVE := $(shell find native/include native/src native/bindings -type f) CMakeLists.txt pyproject.toml
JOBS   ?= 2
# An editable install lists its Python files by name, so it is repeated when the list changes.
LIST   := $(shell find src -name '*.py' | LC_ALL=C sort | cksum | cut -d' ' -f1)
BUILT  := $(VENV)/.built-$(LIST)

.PHONY: help demo test lint format bench sanitize fuzz attack stub requirements build clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      set up, then run a classifier under rising load in the terminal (under a minute)"
	@echo "make test      set up, then run the tests"
	@echo "make lint      ruff, mypy, import-linter, clang-format, the stub"
	@echo "make bench     benchmarks: ratios against peers, in one run"
	@echo "make sanitize  the tests of the native core under address and undefined-behaviour sanitizers"
	@echo "make fuzz      load damaged model files for a minute, under the sanitizers"
	@echo "make attack    kills, full disks, failing memory, damaged input; ATTACK_SECONDS=300 SEED=0 ONLY=kills,disk"
	@echo "make format    ruff and clang-format, in place"

$(VENV)/.packages: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "anystream needs Python 3.11 or newer; name one with make PYTHON=python3.12")'
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "installing the development packages into $(VENV)" >&2
	@$(PY) -m pip install -q --disable-pip-version-check uv 2>/dev/null \
	    && $(VENV)/bin/uv pip install -q --python $(PY) -r requirements/dev.txt \
	    || $(PY) -m pip install -q --disable-pip-version-check -r requirements/dev.txt
	@touch $@

$(BUILT): $(VENV)/.packages $(NATIVE)
	@echo "building the native core" >&2
	@$(PY) -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
	    -Cbuild-dir=build/release -e .
	@rm -f $(VENV)/.built-*
	@touch $@

build: $(BUILT)

demo: build
	@$(PY) -m anystream.demo

test: build
	@$(PY) -m pytest -q -n $(JOBS) --dist worksteal

lint: build
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --verbose --no-cache >build/lint-imports.log 2>&1 || { cat build/lint-imports.log; exit 1; }
	@$(VENV)/bin/clang-format --dry-run --Werror $$(find native tests -name '*.[ch]pp' -o -name '*.inc')
	@diff -u src/anystream/_native.pyi build/release/_native.pyi || \
	    { echo "the stub differs from the build: run 'make stub' and commit it"; exit 1; }
	@echo "lint: all clean"

format: $(VENV)/.packages
	@$(VENV)/bin/ruff check --fix -q . || true
	@$(VENV)/bin/ruff format -q .
	@$(VENV)/bin/clang-format -i $$(find native tests -name '*.[ch]pp' -o -name '*.inc')

stub: build
	@cp build/release/_native.pyi src/anystream/_native.pyi

bench: build
	@$(PY) -m benchmarks

# A virtual environment of its own that uses the packages of the first.
SANPY := build/sanitize/venv/bin/python
build/sanitize/.built: $(VENV)/.packages $(NATIVE) $(shell find src -name '*.py')
	@echo "building the native core with sanitizers" >&2
	@test -x $(SANPY) || $(PY) -m venv --without-pip build/sanitize/venv
	@$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	    > $$($(SANPY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/packages.pth
	@$(PY) -m pip --python $(SANPY) install -q --disable-pip-version-check --no-build-isolation --no-deps \
	    -Cbuild-dir=build/sanitize/cmake -Ccmake.build-type=Debug -Ccmake.define.SANITIZE=ON .
	@touch $@

SAN_ENV = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc

# Packages with native code, and the templates above it; the others are plain Python.
SANITIZED := $(wildcard tests/test_surfaces.py $(addprefix tests/,model_file estimators anytime bayes_tree neighbors subspace \
	microclusters graph drift))

sanitize: build/sanitize/.built
	@$(SAN_ENV) HYPOTHESIS_PROFILE=quick $(SANPY) -P -m pytest -q -n $(JOBS) --dist worksteal \
	    -m "not slow and not data" $(SANITIZED)

fuzz: build/sanitize/.built
	@$(SAN_ENV) $(SANPY) -P tests/model_file/fuzz.py --seconds 60

# ONLY names attacks, CASE repeats one case of one of them.
ATTACK_SECONDS ?= 300
SEED ?= 0
attack: build build/sanitize/.built
	@PYTHONPATH=tests $(PY) -P -m attack --sanitized '$(SAN_ENV) $(SANPY) -P' \
	    --seconds $(ATTACK_SECONDS) --seed $(SEED) --jobs $(JOBS) $(if $(ONLY),--only $(ONLY)) $(if $(CASE),--case $(CASE))

requirements: $(VENV)/.packages
	@$(PY) -m pip install -q uv
	@$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
	    --extra report --extra arrow --group dev pyproject.toml -o requirements/dev.txt

clean:
	rm -rf $(VENV) build dist
