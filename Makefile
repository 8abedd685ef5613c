# On a fresh clone with nothing but Python 3.11+: `make demo` or `make test`. Another Python has an
# environment of its own: `make PYTHON=python3.13 VENV=.venv313 check`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# Runs of `make test-hard`, seconds of `make fuzz`, and the seed of either (of an order by default any).
RUNS ?= 1
SECONDS ?= 60
SEED ?=

# The suite starts hundreds of processes: each compiles what none may keep.
unexport PYTHONDONTWRITEBYTECODE

PYTEST := HF_HUB_OFFLINE=1 $(BIN)/pytest -n auto --maxprocesses 8 --dist worksteal --ignore tests/peers

.PHONY: demo check quick resolves test test-all test-hard peers test-peers extras fuzz install lint format bench dist clean

demo: $(BIN)/branchwise
	@$(BIN)/branchwise demo

# What a contributor runs all day: lint, types, and the tests that start nothing
# (tests/support/quick.py).
# mypy waits on one core for long; the tests use the other meanwhile.
check: install .typing/branchwise
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/mypy & types=$$!; $(PYTEST) -q --quick; tests=$$?; wait $$types && exit $$tests

# The quick tests on another Python, whose environment holds no torch:
# make quick PYTHON=python3.13 VENV=.venv-light
quick: $(VENV)/.light
	@$(PYTEST) -q --quick

$(VENV)/.light: $(BIN)/branchwise
	$(BIN)/pip install --quiet -c constraints.txt -e ".[anthropic,google,mistral,serve,mcp,parquet,notebook,dev]" \
		faiss-cpu scikit-learn tokenizers
	@touch $@

# That what `pip install .` asks for has wheels for a Python that is not here: make resolves ON=3.14
resolves: install
	@$(BIN)/pip install --quiet --dry-run --python-version $(ON) --only-binary=:all: \
		--target $(VENV)/none . && echo "Python $(ON): resolves"

# Before a commit: all but what takes long, a browser, a terminal or fuzzing, which CI runs.
# `worksteal` leaves the tests of a file together, with what they share: corpora, servers, wheels.
test: install
	@$(PYTEST) --ignore tests/fuzz -m "not (long or browser or terminal)"

test-all: install
	@$(PYTEST)

# The whole suite in random order while every core is busy with something else.
test-hard: install
	@HF_HUB_OFFLINE=1 $(BIN)/python tests/support/hard.py --runs $(RUNS) $(if $(SEED),--seed $(SEED))

# Servers that others wrote, each in an environment of its own. By hand, since they take longer:
# tests/peers/models/install.sh llama-cpp
peers: install
	@tests/peers/models/install.sh transformers litellm
	@tests/peers/kg/install.sh

test-peers: peers
	@HF_HUB_OFFLINE=1 $(BIN)/pytest tests/peers

# What tests skip without: programs (as root), FlashRAG.
extras: install
	@tests/extras.sh

# The light install: agents on an API, search by words, worlds, scores, reports.
$(BIN)/branchwise: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "branchwise needs Python 3.11 or later: make PYTHON=python3.11 ..."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e .

install: $(INSTALLED)

# optimum-intel asks for a torchvision whose wheels replace the CPU build of torch, and does not
# need it for text encoders: it is installed without its requirements, which `fast` lists instead.
$(INSTALLED): $(BIN)/branchwise
	$(BIN)/pip install --quiet -c constraints.txt torch
	$(BIN)/pip install --quiet -c constraints.txt -e ".[anthropic,google,mistral,bertscore,fast,serve,mcp,parquet,datasets,notebook,ray,dev]"
	$(BIN)/pip install --quiet -c constraints.txt --no-deps optimum-intel
	@touch $@

lint: install .typing/branchwise
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file benchmarks/mypy.ini benchmarks
	$(BIN)/pytest -q tests/test_imports.py
	@cd .typing && $(abspath $(BIN))/lint-imports --no-cache --no-logo ../pyproject.toml

# Type checkers do not follow an editable install's import hook: show them the package as links.
.typing/branchwise: $(wildcard branchwise/*.py */__init__.py)
	@mkdir -p $@
	@rm -f $@/* && for home in */__init__.py; do ln -sfn ../../$${home%/*} $@/$${home%/*}; done; rm $@/branchwise
	@for entry in branchwise/*; do ln -sfn ../../$$entry $@/$$(basename $$entry); done
	@touch $@

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	$(BIN)/python benchmarks/harness.py
	$(BIN)/python benchmarks/client.py
	$(BIN)/python benchmarks/turns.py
	$(BIN)/python benchmarks/corpora.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/retrieval.py
	$(BIN)/python benchmarks/search_manners.py
	$(BIN)/python benchmarks/query_splitting.py
	$(BIN)/python benchmarks/world.py
	$(BIN)/python benchmarks/names.py
	$(BIN)/python benchmarks/sparql.py
	$(BIN)/python benchmarks/question_sets.py --repeats 1
	$(BIN)/python benchmarks/synthesis.py
	$(BIN)/python benchmarks/readings.py
	$(BIN)/python benchmarks/scoring.py
	$(BIN)/python benchmarks/trace.py
	$(BIN)/python benchmarks/serving.py
	$(BIN)/python benchmarks/paired_statistics.py
	$(BIN)/python benchmarks/conditions.py
	$(BIN)/python benchmarks/store_damage.py --copies 200
	$(BIN)/python benchmarks/kills.py --kills 100

# Source archive and wheel, and the quick tests of the archive with the wheel, outside the checkout.
dist: install
	@HF_HUB_OFFLINE=1 $(BIN)/python tests/support/distribution.py dist -- -q --quick --ignore tests/peers

# Mutated inputs for SECONDS, the same ones for the same SEED; what is found is kept.
fuzz: install
	@$(BIN)/python tests/fuzz --seconds $(SECONDS) --seed $(or $(SEED),1)

clean:
	rm -rf $(VENV) .typing .mypy_cache .ruff_cache .pytest_cache build *.egg-info
