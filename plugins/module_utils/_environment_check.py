# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an environment must show before it counts as done, however it came about."""

from __future__ import annotations

import json
import subprocess
import tempfile

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import LIST_DISTRIBUTIONS
from ansible_collections.inference.sglang.plugins.module_utils._tool_process import clean_environment, run_tool
from ansible_collections.inference.sglang.plugins.module_utils._uv_output import last_lines

_IMPORT_ALL = """
import importlib, sys, traceback
for name in sys.argv[1:]:
    print("import", name, flush=True)
    try:
        importlib.import_module(name)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        sys.exit(1)
"""


def distributions_of(python: str) -> tuple[str, dict[str, str]]:
    """(Python version, {name: version}) of an environment, asked of its own interpreter."""
    run = subprocess.run(  # pylint: disable=ansible-bad-function
        [python, "-I", "-B", "-c", LIST_DISTRIBUTIONS], capture_output=True, text=True, timeout=120, check=True, env=clean_environment({})
    )
    data = json.loads(run.stdout)
    return data["version"], data["distributions"]


def took_too_long(what: str, timeout: float, output: str = "") -> SglangError:
    """`timeout` in seconds, as it was asked for."""
    return SglangError(
        f"{what} took too long",
        found=f"not done after {timeout:.0f} seconds; last words: {last_lines(output, 3) or 'none'}",
        wanted=f"a finished environment within {timeout:.0f} seconds",
        next_step="raise ml_env_timeout; what was downloaded is kept in uv's cache, what was copied beside the environment",
    )


def check_imports(python: str, name: str, imports: list[str], progress: Progress, remaining: float, timeout: float) -> None:
    """Import what a release cannot do without, with the environment's own interpreter and without any setting of ours."""
    if not imports:
        return
    with tempfile.TemporaryDirectory(prefix="ansible-import-check-") as home:
        finished = run_tool(
            [python, "-I", "-B", "-c", _IMPORT_ALL, *imports],
            clean_environment({"HOME": home, "XDG_CACHE_HOME": home, "TRITON_CACHE_DIR": home}),
            on_line=lambda line: progress.report("import", line.partition(" ")[2]) if line.startswith("import ") else None,
            on_tick=lambda _written: progress.report("import", "still importing"),
            limit=remaining,
            cwd=home,
        )
    if finished.timed_out:
        raise took_too_long("the import check", timeout, finished.output)
    if finished.returncode != 0:
        tried = [line.partition(" ")[2] for line in finished.output.splitlines() if line.startswith("import ")]
        raise SglangError(
            f"the environment {name} is installed, yet '{tried[-1] if tried else imports[0]}' cannot be imported",
            found=last_lines(finished.output, 4) or f"exit status {finished.returncode}",
            wanted=f"import of {', '.join(imports)}",
            next_step="a missing shared library is a package of the system (role inference_host); anything else is the lock's",
        )
