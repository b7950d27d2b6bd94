# minigrad: every target sets up what it needs, in .venv, and starts at once the second time.
# Another interpreter has an environment of its own: make test PYTHON=python3.12 sets up .venv-3.12

PYTHON ?= python3
now     = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
VENV   := .venv$(if $(filter file,$(origin PYTHON)),,-$(now))
PY     := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)/python
made_by = $(shell sed -n 's/^version\(_info\)\{0,1\} *= *\([0-9]*\.[0-9]*\).*/\2/p' .venv/pyvenv.cfg 2>/dev/null | head -1)
UV     := $(shell command -v uv 2>/dev/null)

# uv installs faster but does not read pip's configuration. So pip tries where uv finds no way, and PyTorch is left to pip
# from the start: it may be set up to find the build without CUDA, far smaller than the other.
by_uv = $(if $(UV),$(if $(filter parity bench,$(1)),,$(UV) pip install -qq --python $(PY) -e '.[$(1)]' || ))
with  = $(foreach extra,$(1),$(VENV)/.with-$(extra))

# many tests start a Python of their own: the first one keeps bytecode for the others
export PYTHONDONTWRITEBYTECODE :=

# the suites that also run with their tensors on a device (docs/howto/cuda.md); `make test` runs the first ones
DEVICE_FIRST := tests/spec tests/core/test_user_methods.py tests/core/test_inplace.py tests/autograd/test_function.py
ON_DEVICE    := tests/spec tests/core tests/autograd tests/compile/test_compile_random.py tests/compile/test_compile_numbers.py \
  tests/compile/test_compile_training.py tests/compile/test_compile_grads.py tests/compile/test_compile_reads.py \
  tests/compile/test_compile_memory.py tests/compile/test_compile_random_effects.py tests/compile/test_compile_outside.py \
  tests/compile/test_compile_views.py tests/compile/test_compile_selections.py \
  $(addprefix tests/ops/test_,pointwise.py index.py memory.py shape.py)

OTHERS       := $(filter-out $(DEVICE_FIRST),$(ON_DEVICE)) $(addprefix --ignore=,$(DEVICE_FIRST))

# make test DURATIONS=1 ends with tables of the time that tests take; make test-slow NIGHTLY=1 leaves out nothing
PYTEST   = $(PY) -m pytest -q -n auto --dist worksteal $(if $(DURATIONS),-p tools.durations)
ON_GPU   = NUMBA_ENABLE_CUDASIM=1 $(PYTEST)
SLOW     = slow$(if $(NIGHTLY),, and not nightly)
begin    = $(if $(DURATIONS),@rm -f build/durations.tsv)
end      = $(if $(DURATIONS),@$(PY) -m tools.durations)

ifeq ($(VENV),.venv) # an environment of an older or newer python3 is not used in silence
ifneq ($(wildcard .venv/.created),)
$(if $(filter $(now),$(made_by)),,$(warning minigrad: .venv has Python $(made_by), and $(PYTHON) is now $(now). Run make clean, or name it: make PYTHON=python$(made_by)))
endif
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo check test test-quick test-pythons test-versions test-slow cuda-build cuda-test fuzz audit lint format contents parity programs bench bench-small bench-calls bench-ranks bench-operations docs docs-next pictures clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(call with,demo) ## run the demonstrations; pictures and pages land in demo/
	$(PY) -m viz.demo

# what depends on the version of Python: bytecode, frames, syntax trees, counts of references, messages, notebooks
QUICK := tests/test_interpreters.py tests/test_errors.py tests/spec tests/mistakes tests/formulas/test_documents.py \
  tests/autograd/test_function.py tests/core/test_user_methods.py tests/core/test_ctx.py tests/viz/test_notebook.py \
  tests/viz/test_displays.py tests/record/test_recording.py tests/explain/test_recompute.py

# run once more without code that is written out, because the generic path is the definition
ENGINE := tests/table tests/autograd tests/layers tests/ops/test_new_operation.py

check: $(call with,dev demo) ## check what changed since main, in about a minute: style, types, some tests
	$(PY) -m tools.check

test: $(call with,dev demo) ## run the tests and the examples in the docstrings: DURATIONS=1 shows where the time goes
	$(begin)
	$(ON_GPU) -m "not slow" tests/kernels/cuda tests/viz/test_threads.py
	$(ON_GPU) -m "not slow" --device cuda $(DEVICE_FIRST)
	$(PYTEST) -m "not slow" --ignore=tests/parity
	$(end)

test-quick: $(call with,dev demo) ## run the tests that depend on the version of Python, for example with PYTHON=python3.13
	$(ON_GPU) -m "not slow" tests/kernels/cuda/test_watch.py
	$(PYTEST) -m "not slow" $(QUICK)

test-pythons: ## run make test-quick on each other Python from 3.11 on that is found
	@$(PYTHON) -m tools.interpreters | while read -r version path; do \
	  if [ "$$version" = "$(now)" ]; then continue; fi; \
	  echo "Python $$version"; $(MAKE) --no-print-directory test-quick PYTHON=$$path < /dev/null || exit 1; \
	done

test-versions: $(call with,dev demo) ## run make test-quick and more with the oldest and the newest NumPy, SciPy and Numba
	$(PY) -m tools.versions $(QUICK) tests/core tests/autograd tests/formulas

test-slow: $(call with,dev demo marimo) ## run the tests that take longest; with NIGHTLY=1 all of them, and those for each Python
	$(begin)
	$(if $(NIGHTLY),$(PY) -m tools.wheels)
	$(ON_GPU) -m "$(SLOW)" tests/kernels/cuda tests/viz/test_threads.py
	$(ON_GPU) --device cuda $(if $(NIGHTLY),$(ON_DEVICE),-m "not slow" $(OTHERS))
	MINIGRAD_GENERIC=1 $(PYTEST) -m "not slow" $(ENGINE)
	$(PYTEST) -m "$(SLOW)" --ignore=tests/parity
	$(end)

cuda-build: $(call with,cuda12) ## compile the kernels of float32 for one kind of GPU, without one; with NIGHTLY=1 all for three
	$(PY) -m tools.cuda_build $(if $(NIGHTLY),,--arch sm_80 --dtype float32) --json build/cuda-kernels.json

cuda-test: $(call with,dev demo cuda12) ## on a machine with a GPU: run the tests on it, and measure
	$(PY) -m benchmarks.cuda

parity: $(call with,dev parity) ## run the same programs in PyTorch and compare; with NIGHTLY=1 all of them
	$(begin)
	$(PYTEST) $(if $(NIGHTLY),,-m "not nightly") tests/parity
	$(end)

programs: $(call with,dev parity) ## run the programs of tests/programs in PyTorch and here; writes docs/programs.md
	$(PY) -m tests.programs

fuzz: $(call with,dev parity) ## run random programs beside PyTorch: HOURS=8; it goes on where it ended
	$(PY) -m tests.parity.fuzz --hours $(or $(HOURS),1)

audit: $(call with,audit) ## look whether a dependency, in the version that CI tests, has a known hole
	$(PY) -m pip_audit --strict --no-deps --disable-pip -r .ci/locked.txt

lint: $(call with,dev demo) ## check formatting, style and types
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m pyright

format: $(call with,dev) ## format the code and put its imports in order
	$(PY) -m ruff check --select I --fix .
	$(PY) -m ruff format .

contents: $(call with,dev) ## write the imports of the operations in minigrad/__init__.py anew, and the stubs for editors
	$(PY) -m tools.contents
	$(PY) -m tools.stubs

bench: $(call with,bench) ## measure times beside other libraries; writes docs/performance.*
	$(PY) -m benchmarks --docs

bench-small: $(call with,parity) ## measure small cases beside PyTorch and an earlier commit: COMMIT=HEAD~5
	$(PY) -m benchmarks.compare_commits $(COMMIT)

bench-calls: $(call with,parity) ## measure the calls that programs make most beside PyTorch and an earlier commit: COMMIT=HEAD~5
	$(PY) -m benchmarks.calls $(COMMIT)

bench-ranks: $(call with,parity demo mpi) ## measure many processes beside PyTorch on gloo; writes docs/performance_ranks.*
	$(PY) -m benchmarks.ranks --docs

bench-operations: $(call with,parity) ## measure every operation beside PyTorch, at three sizes, for docs/performance.md: NAMES="softmax sum"
	$(PY) -m benchmarks.operations $(or $(NAMES),--docs)

docs: $(call with,docs dev) ## build the documentation site into site/
	$(PY) -m docs.build
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

docs-next: $(call with,docs-next dev) ## build the same site with MkDocs' successor
	$(PY) -m docs.build
	$(PY) -m zensical build --strict --clean

pictures: $(call with,dev) ## draw the pictures in docs/pictures/ anew
	$(PY) -m docs.build.pictures

clean: ## remove the environment and everything that was made
	rm -rf .venv .venv-3.* build dist site demo docs/gen .cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { echo "minigrad: '$(PYTHON)' is not found. Name an interpreter: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "minigrad needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV) (once)"
	@$(if $(UV),$(UV) venv --quiet --allow-existing --seed --python $(PYTHON) $(VENV) || )$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install -qq --upgrade pip
	@touch $@

$(VENV)/.with-%: $(VENV)/.created pyproject.toml
	@echo "Installing what '$*' needs"
	@$(call by_uv,$*)$(PY) -m pip install -qq -e '.[$*]'
	@touch $@
