# Each target sets up what it needs: a .venv out of the lock file, checked by hash, with the project in it.
# Needs Python 3.11 or newer and git. `make test ARGS="tests/store -x"` passes arguments on.

WORKERS ?= 2
FUZZ_SECONDS ?= 60

export PYTHONUTF8 := 1
# uv brings certificates of its own; behind a company's proxy only the system's are the right ones.
export UV_SYSTEM_CERTS ?= 1
# The last one makes every command compile what it imports, again and again: three times the start.
unexport PYTHONHOME PYTHONPATH VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-extras check bench fuzz lock clean

demo: .venv/.ready
	@.venv/bin/python examples/demo.py $(ARGS)

test: .venv/.ready-dev
	@.venv/bin/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

# deepeval and opik bring pytest plugins, which no test here is written for.
UNWANTED = asyncio deepeval opik repeat rerunfailures

test-extras: .venv-extras/.ready-extras
	@.venv-extras/bin/python -m pytest $(UNWANTED:%=-p no:%) -m extras $(ARGS)

check: .venv/.ready-dev
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy --strict
	@.venv/bin/lint-imports --no-logo

bench: .venv/.ready-dev
	@.venv/bin/python -m benchmarks $(ARGS)

fuzz: .venv/.ready-dev
	@mkdir -p .fuzz
	@set -e; for target in tests/fuzz/fuzz_*.py; do \
	    test -e "$$target" || { echo "tests/fuzz holds no fuzz_*.py" >&2; exit 1; }; \
	    echo "$$target, $(FUZZ_SECONDS) seconds"; \
	    .venv/bin/python "$$target" -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=.fuzz/ $(ARGS); \
	done

# The pins stay where pyproject.toml still allows them; `make lock ARGS=--upgrade` moves them all.
COMPILE = .venv/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
    --no-header --no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml $(ARGS)

lock: .venv/.ready-dev
	@$(COMPILE) --group test --output-file requirements-dev.lock
	@$(COMPILE) --group build --constraints requirements-dev.lock --output-file requirements.lock
	@$(COMPILE) --group test-extras --all-extras --output-file requirements-extras.lock
	@! grep -nE '://|^-' requirements*.lock

# Leaves .rejudge/ alone: it holds recorded work.
clean:
	rm -rf .venv .venv-extras .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .fuzz build dist

# Set-up. uv comes out of the same lock and is tried first, being ten times as fast; where it cannot reach
# an index that pip is configured for, pip does the same work.
define install
	@echo "Setting up $(1) from $(2)"
	@sed -n '/^uv==/,/[^\\]$$/p' $(2) > $(1)/uv.txt
	@$(1)/bin/uv --version > /dev/null 2>&1 \
	    || $(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(1)/uv.txt \
	    || echo "uv cannot be installed; going on with pip" >&2
	@$(1)/bin/uv pip install --quiet --python $(1)/bin/python --require-hashes -r $(2) \
	    || $(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(2)
	@$(1)/bin/uv pip install --quiet --python $(1)/bin/python --no-deps --no-build-isolation --editable . \
	    || $(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
endef

.venv/.ready: requirements.lock pyproject.toml | .venv/bin/python
	$(call install,.venv,requirements.lock)

.venv/.ready-dev: requirements-dev.lock pyproject.toml | .venv/bin/python
	$(call install,.venv,requirements-dev.lock)
	@touch .venv/.ready

.venv-extras/.ready-extras: requirements-extras.lock pyproject.toml | .venv-extras/bin/python
	$(call install,.venv-extras,requirements-extras.lock)

.venv/bin/python .venv-extras/bin/python:
	@found=; for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then \
	        found=$$python; break; \
	    fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "No Python 3.11 or newer found. Install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	if ! "$$found" -m venv $(@:/bin/python=); then \
	    rm -rf $(@:/bin/python=); \
	    echo "$$found cannot make a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; \
	fi
