# Two commands: `make train` and `make test` set everything up by themselves.
#   make train                            the main job on the reviews that come with the project
#   make train DATASET=sst2               on a data set of the Hub
#   make train DATA=folder                on your own files, with settings for their number of texts
#   make train ARGS="--overwrite ..."     with any argument of scripts/train_classifier.py
#   make course                           notebooks and slides of all lessons, for students and teachers, in course/
#   make site                             build/site: live pages, course and documentation, without a server
#   make test | make test-all | make test-textbook | make test-docs | make test-gpu | make gpu | make lint | make docs
#   make test PYTHON=python3.12           with another Python, in .venv-3.12; make test-pythons: with each of PYTHONS
PYTHON ?= python3
PYTHONS ?= python3.10 python3.11 python3.12 python3.13
# A Python that is named has an environment of its own, such as .venv-3.12.
ifneq ($(PYTHON),python3)
PYTHON_VERSION := $(shell $(PYTHON) -c "import sys; print('%d.%d' % sys.version_info[:2])")
VENV ?= .venv-$(or $(PYTHON_VERSION),$(error $(PYTHON) is no Python))
endif
VENV ?= .venv
# Pinned versions. With a GPU: a copy with another line for torch, `make train CONSTRAINTS=my-constraints.txt`.
CONSTRAINTS ?= constraints.txt
# Threads that wait for each other (GNU's, on Linux) spin for a moment before they sleep. Longer would stall small models
# where the machine has other work, too; those that sleep at once wake up too late for the next product.
export GOMP_SPINCOUNT ?= 1000
# Processes for the tests: as many as there are cores.
WORKERS ?= auto

RUN = runs/demo
ifdef DATA
RUN = runs/$(notdir $(DATA:%/=%))
SOURCE = --data_dir "$(DATA)" --output_dir "$(RUN)"
else ifdef DATASET
RUN = runs/$(notdir $(DATASET))
SOURCE = --dataset_name "$(DATASET)" --output_dir "$(RUN)"
endif

# The site and the models of its live pages: yours, or those that are trained where they are missing.
SITE ?= build/site
CLASSIFIER ?= $(RUN)
TRANSLATOR ?= runs/live/translator
WRITER ?= runs/live/writer
TRAINED = $(RUN) runs/live/translator runs/live/writer

# The architecture, which a saved folder ships; its lines are shorter than those of the rest.
NOT_BOOK = __init__ presets verify
BOOK = $(filter-out $(NOT_BOOK:%=modeling_scratch/%.py), $(wildcard modeling_scratch/*.py))

.PHONY: train course site test test-pythons test-all test-textbook test-docs test-gpu gpu lint docs clean

TRAIN = $(VENV)/bin/python scripts/train_classifier.py $(SOURCE) $(ARGS)
train: $(VENV)/.train-installed
	$(TRAIN)

course: $(VENV)/.train-installed
	$(VENV)/bin/python scripts/lesson.py --teacher --slides $(ARGS)

site: $(VENV)/.docs-installed $(VENV)/.train-installed $(addsuffix /config.json,$(filter $(TRAINED),$(CLASSIFIER) $(TRANSLATOR) $(WRITER)))
	$(VENV)/bin/python -m sphinx -q -W --keep-going -b html docs "$(SITE)/docs"
	$(VENV)/bin/python scripts/maintenance/build_site.py "$(SITE)" \
		--classifier "$(CLASSIFIER)" --translator "$(TRANSLATOR)" --writer "$(WRITER)"
	@echo "open $(SITE)/index.html"

# Models are trained where they are missing, and never again: what they are made of stands behind a |. PRECIOUS is what
# make would delete when it is interrupted; the next call goes on at the last checkpoint.
RESUME = $(if $(wildcard $(@D)/checkpoint-*),--resume_from_checkpoint last)
.PRECIOUS: $(TRAINED:%=%/config.json)
$(RUN)/config.json: | $(VENV)/.train-installed
	$(TRAIN) $(RESUME)

runs/live/reviews.txt: | $(VENV)/.train-installed
	$(VENV)/bin/python docs/examples/live_texts.py runs/live

runs/live/translator/config.json: | $(VENV)/.train-installed runs/live/reviews.txt
	$(VENV)/bin/python scripts/train_translation.py --train_file runs/live/train.en runs/live/train.de \
		--test_file runs/live/test.en runs/live/test.de --tokenizer_kind words --num_train_epochs 8 \
		--config_overrides hidden_size=64,num_hidden_layers=2,hidden_dropout=0.1 --num_beams 1 \
		--output_dir runs/live/translator $(RESUME) $(ARGS)

runs/live/writer/config.json: | $(VENV)/.train-installed runs/live/reviews.txt
	$(VENV)/bin/python scripts/pretrain.py --objective clm --train_file runs/live/reviews.txt --document line \
		--preset plays --vocab_size 3000 --config_overrides hidden_size=64,num_hidden_layers=2,intermediate_size=256 \
		--learning_rate 4e-3 --per_device_train_batch_size 16 --num_train_epochs 3 --output_dir runs/live/writer $(RESUME) $(ARGS)

test: $(VENV)/.test-installed
	$(VENV)/bin/python -m pytest -n $(WORKERS) $(ARGS)

# `make test` with each of PYTHONS that is installed. All of them run, and one that fails fails the whole.
test-pythons:
	@failed=; for python in $(PYTHONS); do \
		if ! $$python -c "" 2> /dev/null; then echo "$$python is not installed: skipped"; continue; fi; \
		echo "$$python"; $(MAKE) test PYTHON=$$python || failed="$$failed $$python"; \
	done; test -z "$$failed" || { echo "make test failed with$$failed" >&2; exit 1; }

test-all: $(VENV)/.test-installed
	$(VENV)/bin/python -m pytest -n $(WORKERS) -m "not hub and not gpu" $(ARGS)

# The tests of models once more, by the textbook alone.
test-textbook: $(VENV)/.test-installed
	SCRATCH_ENGINE=textbook $(VENV)/bin/python -m pytest -n $(WORKERS) tests/textbook $(ARGS)

test-docs: $(VENV)/.test-installed
	$(VENV)/bin/python -m pytest -m "" tests/project/test_readme.py tests/project/test_notebooks.py \
		-k "commands_and_examples or transformer-in-an-evening" $(ARGS)

test-gpu: $(VENV)/.test-installed
	$(VENV)/bin/python -c "import sys, torch; sys.exit(None if torch.cuda.is_available() else 'no CUDA device')"
	$(VENV)/bin/python -m pytest -m gpu $(ARGS)

# A quarter of an hour with a GPU: checks, a table of speed, a training; `make gpu ARGS=--rehearse` on a CPU. Where there
# is no environment yet and $(PYTHON) has the libraries, as on rented machines without a network, it runs with that.
GPU_LIBRARIES = all(map(importlib.util.find_spec, ("torch", "transformers", "safetensors", "pyarrow", "pytest", "hypothesis")))
gpu:
	@test -e $(VENV)/.test-installed \
		|| $(PYTHON) -c 'import importlib.util, sys; sys.exit(not $(GPU_LIBRARIES))' \
		|| $(MAKE) --no-print-directory $(VENV)/.test-installed
	@if test -e $(VENV)/.test-installed; then python=$(VENV)/bin/python; else python=$(PYTHON); fi; \
		PYTHONPATH=".$${PYTHONPATH:+:$$PYTHONPATH}" PYTHONUNBUFFERED=1 $$python scripts/gpu.py $(ARGS)

lint: $(VENV)/.test-installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff format --check --line-length 96 $(BOOK)
	$(VENV)/bin/mypy

docs: $(VENV)/.docs-installed
	$(VENV)/bin/python -m sphinx -W --keep-going -b html docs docs/_build/html

$(VENV)/.%-installed: setup.cfg pyproject.toml $(CONSTRAINTS)
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --use-pep517 \
		--constraint $(CONSTRAINTS) --editable ".[$*]"
	touch $@

clean:
	rm -rf $(VENV) .venv-* build docs/_build *.egg-info .pytest_cache .ruff_cache .mypy_cache
