# Kernelwright: `make build`, `make demo`, `make test`. Each does its own set-up (scripts/setup).
BUILD ?= build
PYTHON ?=
WERROR ?= OFF
UNITY ?= 12
JOBS ?= $(shell nproc)
export BUILD PYTHON WERROR JOBS
ENV = . $(abspath $(BUILD))/setup.env

.PHONY: help setup build check test test-all test-browser demo lint format clean FORCE

help:
	@echo 'make build [PYTHON=/path/to/python3]  set up and build $(BUILD)/kernelwright;'
	@echo '                                      PYTHON: an interpreter with its own torch and triton'
	@echo 'make demo                             optimize the models in examples/ on this machine'
	@echo 'make check                            C++ tests that start no process, and lint: while writing'
	@echo 'make test                             all tests, as CI runs them'
	@echo 'make test-all                         the same with every labelled case and random tail'
	@echo 'make test-browser                     look at pages of reports in headless Chromium'
	@echo 'make lint                             formatting, includes, warnings, clang-tidy'
	@echo 'make format                           clang-format the sources'
	@echo 'make clean                            remove $(BUILD)/ (set-up stays: .venv, .deps)'

setup: $(BUILD)/setup.env

# Runs each time; the file's time changes only when what it says does.
$(BUILD)/setup.env: FORCE
	@scripts/setup

$(BUILD)/build.ninja: $(BUILD)/setup.env
	@rm -f $(BUILD)/CMakeCache.txt
	@$(ENV) && "$$KW_CMAKE" -S . -B $(BUILD) -G Ninja -DCMAKE_CXX_COMPILER="$$KW_CXX" \
	  -DCMAKE_MAKE_PROGRAM="$$KW_NINJA" -DKW_PYTHON="$$KW_PYTHON" -DKW_DEPS="$$KW_DEPS" \
	  -DKW_WERROR=$$KW_WERROR -DKW_UNITY=$(UNITY)
	@touch $@

build: $(BUILD)/build.ninja
	@$(ENV) && "$$KW_NINJA" -C $(BUILD) -j $(JOBS)

check:
	@scripts/test check

test:
	@scripts/test

test-all:
	@scripts/test all

test-browser: build
	@$(ENV) && KW_BUILD_DIR=$(abspath $(BUILD)) "$$KW_PYTHON" -m pytest -q tests/browser

demo: build
	@scripts/demo

lint:
	@scripts/lint

format:
	@find src tests/fuzz -name '*.h' -o -name '*.cc' | xargs -r clang-format -i

clean:
	rm -rf $(BUILD)
