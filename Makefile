# Every command a contributor needs. `make` alone lists them.
# The tools live in .venv/core-2.19 (Python 3.11) and, where a Python >= 3.12 is found, .venv/core-2.21; .venv/current leads to the newest.
SHELL := /bin/bash
.DEFAULT_GOAL := help

help:  ## list the commands
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv:  ## the tools, pinned and hashed, in .venv
	scripts/venv

demo:  ## a real SGLang on a real systemd host on this machine (root)
	demo/run

demo-clean:  ## undo everything that demo and the tests did to this machine (root)
	demo/clean

test:  ## each contract once: what CI runs (root, at most 45 minutes)
	scripts/test fast

test-full:  ## every fault, release and scale case
	scripts/test full

unit: venv  ## the core, in seconds
	scripts/test fast unit

contract: venv  ## specs, defaults, docs and locks agree
	scripts/test fast contract

lint: venv  ## ansible-lint production, ruff, mypy strict, yamllint, shellcheck
	scripts/test fast lint

sanity: venv  ## ansible-test sanity on the built collection
	scripts/test fast sanity

package: venv  ## galaxy build, install, ansible-doc of everything
	scripts/test fast package

play: venv  ## real playbooks through ansible-runner on real systemd hosts (root)
	scripts/test fast play

molecule: venv  ## molecule scenarios on real systemd hosts (root)
	scripts/test fast molecule

gpu: venv  ## a real engine on this machine's NVIDIA GPUs: SHAPE=tiny or full (root)
	scripts/gpu $(SHAPE)

gpu-bench:  ## published commands and our plans measured on this machine's NVIDIA GPUs: docs/gpu-bench.md
	scripts/gpu-bench $(NAMES)

engine-matrix: venv  ## every model, GPU and release against the releases' own parsers
	scripts/engine-matrix

bench-plan: venv  ## published commands, a rule of thumb and our plans compared: accepted, and requests at once
	scripts/bench-plan

bench-transfer: venv  ## downloads, fan-out and environments against the tools one would use instead, with ratios
	scripts/bench-transfer

bench-gate: venv  ## how soon the log gate, wait_for and a loop notice that a server is ready or dead (root)
	.venv/current/bin/python scripts/bench-gate

gate-rates: venv  ## how often the gate and the diagnosis are right, into docs/reliability.md
	.venv/current/bin/python scripts/gate-rates --write

docs: venv  ## regenerate the tables of the roles' variables, docs/troubleshooting.md, docs/gpu.md and docs/gpu-bench.md
	.venv/current/bin/python scripts/role_tables.py --write
	.venv/current/bin/python scripts/troubleshooting.py --write
	.venv/current/bin/python scripts/gpu_tables.py --write
	.venv/current/bin/python scripts/gpu_bench_tables.py --write

lock: venv  ## refresh the hashed locks of the SGLang environments
	scripts/lock

lock-tools: venv  ## refresh the hashed lock of the test tools
	cd tests && ../.venv/current/bin/uv pip compile --no-config --universal --generate-hashes --python-version 3.11 --no-header requirements.in -o requirements.txt

.PHONY: help venv demo demo-clean test test-full unit contract lint sanity package play molecule gpu gpu-bench engine-matrix bench-plan bench-transfer bench-gate gate-rates docs lock lock-tools
