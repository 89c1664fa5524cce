# Every target sets up what it needs and is quick the second time.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
NATIVE := $(shell find native/include native/src native/bindings -type f) CMakeLists.txt pyproject.toml
JOBS   ?= 2
# An editable install lists its Python files by name, so it is repeated when the list changes.
LIST   := $(shell find src -name '*.py' | LC_ALL=C sort | cksum | cut -d' ' -f1)
BUILT  := $(VENV)/.built-$(LIST)
# Tests start hundreds of processes: without files of bytecode each of them would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo serve-demo test test-slow test-browser test-brokers test-registry kill-brokers test-ray lint format bench bench-peers bench-server test-clients triton kill-server fuzz-server sanitize tsan fuzz attack stub requirements build clean compare test-recipes docs test-docs wheel check-clang check-aarch64
.DEFAULT_GOAL := help

help:
	@echo "make demo      set up, then run a classifier under rising load in the terminal (under a minute)"
	@echo "make serve-demo  set up, then serve a dashboard with live traffic on port 8000"
	@echo "make test      set up, then run the tests"
	@echo "make docs      the documentation as a site in build/site, built strictly"
	@echo "make test-docs     every page of the site in a real Chromium, offline; and the examples"
	@echo "make test-slow  tests that take more than a few seconds each: code blocks of the docs, workers that are killed, calls that are interrupted"
	@echo "make test-browser  the dashboard in a real Chromium; skipped without one"
	@echo "make test-recipes  Spark, Dask, Ray Serve and load balancers; what cannot be had is skipped by name"
	@echo "make test-clients  tritonclient, kserve and others against our server and a real Triton"
	@echo "make kill-server   SIGKILL a learning server KILLS=50 times: nothing acknowledged is lost"
	@echo "make fuzz-server   CASES=100000 damaged requests: no 5xx but 503, no leak"
	@echo "make test-brokers  real brokers on this machine; what cannot be had is skipped by name"
	@echo "make test-registry  Avro from Kafka with a real registry of schemas (Apicurio, 140 MB)"
	@echo "make kill-brokers  100 kills of the consumer of each broker; BROKER_KILLS=100 BROKERS='redis kafka'"
	@echo "make test-ray  install Ray, then fit and stream on a cluster on 127.0.0.1 whose nodes are killed"
	@echo "make lint      ruff, mypy, import-linter, clang-format, the stub"
	@echo "make bench     benchmarks: ratios against peers, in one run"
	@echo "make bench-peers  install other libraries, then compare with them: forests, nearest neighbours, classifiers"
	@echo "make compare   install other libraries of classifiers, then compare with them into build/comparison; COMPARE='SEA digits --quick'"
	@echo "make bench-server  anystream, Triton and a plain endpoint under bursts: right and in time, table, plot, CSV"
	@echo "make sanitize  the tests of the native core under address and undefined-behaviour sanitizers"
	@echo "make tsan      models and queries in many threads under the thread sanitizer; TSAN_SECONDS=120"
	@echo "make fuzz      load damaged model files for a minute, under the sanitizers"
	@echo "make attack    kills, full disks, failing memory, damaged input; ATTACK_SECONDS=300 SEED=0 ONLY=kills,disk"
	@echo "make wheel     the sdist, and the wheel for this machine from it, tested in a clean environment"
	@echo "make check-clang, make check-aarch64   the native core by other compilers; the latter runs it in an emulator"
	@echo "make format    ruff and clang-format, in place"

$(VENV)/.packages: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "anystream needs Python 3.11 or newer; name one with make PYTHON=python3.12")'
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "installing the development packages into $(VENV)" >&2
	@$(PY) -m pip install -q --disable-pip-version-check uv 2>/dev/null \
	    && $(VENV)/bin/uv pip install -q --compile-bytecode --python $(PY) -r requirements/dev.txt \
	    || $(PY) -m pip install -q --disable-pip-version-check -r requirements/dev.txt
	@touch $@

$(BUILT): $(VENV)/.packages $(NATIVE)
	@echo "building the native core" >&2
	@$(PY) -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
	    -Cbuild-dir=build/release -e .
	@$(PY) -m compileall -q src
	@rm -f $(VENV)/.built-*
	@touch $@

build: $(BUILT)

demo: build
	@$(PY) -m anystream.demo

serve-demo: build
	@$(VENV)/bin/anystream demo --serve

test: build
	@$(PY) -m pytest -q -n $(JOBS) --dist worksteal -m "not slow"

test-slow: build
	@$(PY) -m pytest -q -n $(JOBS) --dist worksteal -m slow tests

# The site of the documentation, in build/site: opens from disk, loads nothing from elsewhere.
$(VENV)/.docs: $(VENV)/.packages pyproject.toml
	@echo "installing the group docs into $(VENV)" >&2
	@$(VENV)/bin/uv pip install -q --python $(PY) --group docs 2>/dev/null \
	    || $(PY) -m pip install -q --disable-pip-version-check --group docs
	@touch $@

docs: build $(VENV)/.docs
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" NO_COLOR=1 $(VENV)/bin/zensical build --strict --clean
	@echo "open build/site/index.html"

test-docs: docs
	@$(VENV)/bin/uv pip install -q --python $(PY) --group browser --group notebook
	@$(PY) -m pytest -q tests/browser/test_site.py tests/test_examples.py

test-browser: build
	@$(VENV)/bin/uv pip install -q --python $(PY) --group browser
	@$(PY) -m pytest -q tests/browser --ignore=tests/browser/test_site.py

# The program tritonserver, for comparison: Linux on x86-64, neither GPU nor container.
TRITON := build/triton/nvidia_pytriton.libs
$(TRITON): $(VENV)/.packages
	@echo "unpacking Triton into build/triton" >&2
	@$(VENV)/bin/uv pip install -q --python $(PY) --no-deps --target build/triton --group triton

triton: $(TRITON)

test-clients: build
	@$(VENV)/bin/uv pip install -q --python $(PY) --group clients
	@$(MAKE) -s triton || echo "Triton is left out" >&2
	@$(PY) -m pytest -q tests/server/test_clients.py tests/server/test_triton.py

KILLS ?= 50
kill-server: build
	@$(PY) tests/server/killed_server.py $(KILLS)

CASES ?= 100000
fuzz-server: build
	@$(VENV)/bin/uv pip install -q --python $(PY) --group fuzz
	@PYTHONPATH=tests $(PY) -P -m server.fuzz_server $(CASES) $(SEED)

# Clients and a server of NATS come from the group brokers, Redis and mosquitto from the system, Kafka as jars by mvn.
$(VENV)/.brokers: $(VENV)/.packages pyproject.toml
	@echo "installing the clients of brokers into $(VENV)" >&2
	@$(VENV)/bin/uv pip install -q --python $(PY) --group brokers 2>/dev/null \
	    || $(PY) -m pip install -q --disable-pip-version-check --group brokers
	@touch $@

build/kafka/.jars: tests/brokers/kafka.xml
	@mkdir -p build/kafka
	@{ command -v mvn && command -v java; } >/dev/null && echo "fetching Kafka" >&2 \
	    && mvn -q -B -f tests/brokers/kafka.xml dependency:copy-dependencies \
	        -DoutputDirectory=$(CURDIR)/build/kafka/jars >build/kafka/log 2>&1 \
	    && touch $@ || echo "Kafka cannot be had (it needs java and mvn); its tests are skipped" >&2

test-brokers: build $(VENV)/.brokers build/kafka/.jars
	@$(PY) -m pytest -q -rs -n $(JOBS) --dist loadgroup tests/brokers

# A registry of schemas for Kafka, 140 MB.
build/registry/.jars:
	@mkdir -p build/registry
	@{ command -v mvn && command -v java; } >/dev/null && echo "fetching Apicurio" >&2 \
	    && mvn -q -B dependency:get -Dtransitive=false \
	        -Dartifact=io.apicurio:apicurio-registry-app:2.6.13.Final:tar.gz:all >build/registry/log 2>&1 \
	    && tar -xzf "$$HOME"/.m2/repository/io/apicurio/apicurio-registry-app/2.6.13.Final/*-all.tar.gz -C build/registry \
	    && touch $@ || echo "Apicurio cannot be had (it needs java and mvn); its test is skipped" >&2

test-registry: build $(VENV)/.brokers build/kafka/.jars build/registry/.jars
	@$(PY) -m pytest -q -rs tests/brokers/test_registry.py

# The engines of the recipes need other versions than the development packages: a virtual environment of its own, which
# finds anystream and everything else in the first. HAProxy, nginx and Java come from the system.
RECIPESPY := build/recipes/venv/bin/python
build/recipes/.packages: $(VENV)/.packages pyproject.toml
	@echo "installing the engines of the recipes into build/recipes" >&2
	@test -x $(RECIPESPY) || $(PY) -m venv --without-pip build/recipes/venv
	@$(VENV)/bin/uv pip install -q --python $(RECIPESPY) --group recipes
	@$(PY) -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	    > $$($(RECIPESPY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/anystream-packages.pth
	@touch $@

test-recipes: build build/recipes/.packages
	@$(RECIPESPY) -m pytest -q -rs tests/recipes

BROKER_KILLS ?= 100
BROKERS ?= redis kafka nats mqtt
kill-brokers: build $(VENV)/.brokers build/kafka/.jars
	@for broker in $(BROKERS); do PYTHONPATH=tests $(PY) -m brokers.kills $$broker --kills $(BROKER_KILLS) \
	    --broker-kills $$(( $(BROKER_KILLS) / 10 )) $$(test $$broker = mqtt || echo --second) || exit 1; done

$(VENV)/.ray: $(VENV)/.packages pyproject.toml
	@echo "installing Ray into $(VENV)" >&2
	@$(VENV)/bin/uv pip install -q --python $(PY) --group ray 2>/dev/null \
	    || $(PY) -m pip install -q --disable-pip-version-check --group ray
	@touch $@

test-ray: build $(VENV)/.ray
	@$(PY) -m pytest -q -rs tests/distributed/on_ray

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

$(VENV)/.peers: $(VENV)/.packages pyproject.toml
	@echo "installing the engines of the group peers into $(VENV)" >&2
	@$(VENV)/bin/uv pip install -q --python $(PY) --group peers 2>/dev/null \
	    || $(PY) -m pip install -q --disable-pip-version-check --group peers
	@touch $@

bench-peers: build $(VENV)/.peers
	@$(PY) -m benchmarks.forest.speed
	@$(PY) -m benchmarks.neighbors.scan
	@$(PY) -m benchmarks.peers

# The libraries of the group compare; capymoa needs Java, and is left out of the comparison without it.
$(VENV)/.compare: $(VENV)/.packages pyproject.toml
	@echo "installing the libraries of the group compare into $(VENV)" >&2
	@$(VENV)/bin/uv pip install -q --python $(PY) --group compare 2>/dev/null \
	    || $(PY) -m pip install -q --disable-pip-version-check --group compare
	@touch $@

COMPARE ?= --published
compare: build $(VENV)/.compare
	@$(VENV)/bin/anystream compare $(COMPARE) --out build/comparison

bench-server: build $(VENV)/.peers
	@$(MAKE) -s triton || echo "Triton is left out" >&2
	@$(PY) -m benchmarks.server.speed
	@$(PY) -m benchmarks.server.on_time $(if $(FULL),--full)

# Builds with sanitizers, each in a virtual environment of its own that uses the packages of the first.
SANPY  := build/sanitize/venv/bin/python
TSANPY := build/tsan/venv/bin/python
build/sanitize/.built: SANITIZERS := address,undefined
build/tsan/.built: SANITIZERS := thread
build/sanitize/.built build/tsan/.built: $(VENV)/.packages $(NATIVE) $(shell find src -name '*.py')
	@echo "building the native core with sanitizers: $(SANITIZERS)" >&2
	@test -x $(@D)/venv/bin/python || $(PY) -m venv --without-pip $(@D)/venv
	@$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	    > $$($(@D)/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/packages.pth
	@$(PY) -m pip --python $(@D)/venv/bin/python install -q --disable-pip-version-check --no-build-isolation --no-deps \
	    -Cbuild-dir=$(@D)/cmake -Ccmake.build-type=Debug -Ccmake.define.SANITIZE=ON \
	    -Ccmake.define.SANITIZERS=$(SANITIZERS) .
	@touch $@

SAN_ENV = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc

# Packages with native code, and the templates above it; the others are plain Python.
SANITIZED := $(wildcard tests/test_surfaces.py $(addprefix tests/,model_file estimators anytime bayes_tree neighbors subspace \
	microclusters graph drift forest connectors))

sanitize: build/sanitize/.built
	@$(SAN_ENV) HYPOTHESIS_PROFILE=quick $(SANPY) -P -m pytest -q -n $(JOBS) --dist worksteal \
	    -m "not slow and not data" $(SANITIZED)

fuzz: build/sanitize/.built
	@$(SAN_ENV) $(SANPY) -P tests/model_file/fuzz.py --seconds 60

# One model of each kind, used by many threads while one learns, under the thread sanitizer. Python itself is not
# instrumented; what the sanitizer knows of it are its locks. Of OpenMP in scikit-learn it knows nothing: one thread.
# MODEL=16 is one of the models of tests/model_file/fuzz.py alone.
TSAN_SECONDS ?= 120
TSAN_ENV = LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" PYTHONMALLOC=malloc OMP_NUM_THREADS=1 \
	TSAN_OPTIONS=halt_on_error=1:exitcode=66:suppressions=$(CURDIR)/tests/attack/tsan.supp
tsan: build build/tsan/.built
	@PYTHONPATH=tests $(PY) -P -m attack --sanitized '$(TSAN_ENV) $(TSANPY) -P' --all-sanitized --only threads \
	    --seconds $(TSAN_SECONDS) --seed $(SEED) --jobs $(JOBS) $(if $(CASE),--case $(CASE)) $(if $(MODEL),--model $(MODEL))

# ONLY names attacks, CASE repeats one case of one of them.
ATTACK_SECONDS ?= 300
SEED ?= 0
attack: build build/sanitize/.built
	@PYTHONPATH=tests $(PY) -P -m attack --sanitized '$(SAN_ENV) $(SANPY) -P' \
	    --seconds $(ATTACK_SECONDS) --seed $(SEED) --jobs $(JOBS) $(if $(ONLY),--only $(ONLY)) $(if $(CASE),--case $(CASE))

# A release: the sdist, and the wheel for this machine from it, tested in an environment that has nothing else.
CLEANPY := build/wheel/venv/bin/python
wheel: $(VENV)/.packages
	@rm -rf dist build/wheel && mkdir -p build/wheel
	@$(PY) -c 'from scikit_build_core.build import build_sdist; build_sdist("dist")' >build/wheel/sdist.log 2>&1 \
	    || { cat build/wheel/sdist.log; exit 1; }
	@tar -xzf dist/anystream-*.tar.gz -C build/wheel --strip-components=1 --one-top-level=source
	@echo "building a wheel from the sdist" >&2
	@cd build/wheel/source && $(CURDIR)/$(PY) -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
	    -w $(CURDIR)/dist .
	@$(PY) -m venv build/wheel/venv && $(CLEANPY) -m pip install -q --disable-pip-version-check dist/anystream-*.whl
	@cd build/wheel && $(CURDIR)/$(CLEANPY) -I $(CURDIR)/tests/installed_wheel.py
	@ls dist

# The native core by clang; and for aarch64 by a cross compiler, with a test that an emulator runs.
PLAIN_CXX := -std=c++20 -pedantic-errors -Wall -Wextra -Wno-psabi -ffp-contract=off -Inative/include
CORE := $(shell find native/src -name '*.cpp' ! -name '*_avx2.cpp' ! -name '*_avx512.cpp')
CROSS := build/aarch64
check-clang:
	@printf '%s\n' $(CORE) | xargs -P $(JOBS) -n 1 clang++ $(PLAIN_CXX) -fsyntax-only
	@echo "check-clang: $(words $(CORE)) sources"

$(CROSS)/%.o: native/src/%.cpp
	@mkdir -p $(@D)
	@aarch64-linux-gnu-g++ $(PLAIN_CXX) -O1 -c $< -o $@

$(CROSS)/libcore.a: $(patsubst native/src/%.cpp,$(CROSS)/%.o,$(CORE))
	@rm -f $@ && aarch64-linux-gnu-ar rcs $@ $^

check-aarch64: build $(CROSS)/libcore.a
	@aarch64-linux-gnu-g++ $(PLAIN_CXX) -O1 -static tests/native/core_test.cpp $(CROSS)/libcore.a -o $(CROSS)/core_test
	@g++ $(PLAIN_CXX) -O1 tests/native/core_test.cpp build/release/libanystream_core.a -pthread -o $(CROSS)/core_test_here
	@here=$$($(CROSS)/core_test_here) && there=$$(qemu-aarch64 $(CROSS)/core_test) && test $$here = $$there \
	    && echo "check-aarch64: $(words $(CORE)) sources; the same bits as here, fingerprint $$here" \
	    || { echo "aarch64 has the fingerprint $$there, this machine $$here"; exit 1; }

requirements: $(VENV)/.packages
	@$(PY) -m pip install -q uv
	@$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
	    --extra report --extra arrow --extra server --extra grpc --group dev pyproject.toml -o requirements/dev.txt

clean:
	rm -rf $(VENV) build dist
