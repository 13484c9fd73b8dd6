# Kernelwright: `make build`, `make test`, `make demo`. Each does its own set-up (scripts/setup).
BUILD ?= build
PYTHON ?=
WERROR ?= OFF
JOBS ?= $(shell nproc)
export BUILD PYTHON WERROR JOBS
ENV = . $(abspath $(BUILD))/setup.env

.PHONY: help setup build test test-browser demo lint format clean FORCE

help:
	@echo 'make build [PYTHON=/path/to/python3]  set up and build $(BUILD)/kernelwright;'
	@echo '                                      PYTHON: an interpreter with its own torch and triton'
	@echo 'make demo                             optimize the models in examples/ on this machine'
	@echo 'make test                             build and run every test'
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
	  -DKW_WERROR=$$KW_WERROR
	@touch $@

build: $(BUILD)/build.ninja
	@$(ENV) && "$$KW_NINJA" -C $(BUILD) -j $(JOBS)

test:
	@scripts/test

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
