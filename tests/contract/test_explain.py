# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plan that docs/explain.md shows is the one that is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.inference.sglang.plugins.module_utils._plan_report import render_report
from ansible_collections.inference.sglang.plugins.modules import launch_plan

from tests.unit.test_core_modules import run

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "inventories/lab"


def test_the_shown_plan_is_ct129_s(capsys: Any) -> None:
    host = yaml.safe_load((LAB / "host_vars/ct129.yml").read_text())
    found = run(
        launch_plan,
        capsys,
        look_at_host=False,
        require_complete=False,
        environment_path=host["ml_env_link"],
        sglang_version=host["ml_env_sglang_version"],
        model_path=host["model_shards_path"],
        served_model_name=host["sglang_server_served_model_name"],
        origins={"model_path": "model_shards_path"},
        config=json.loads((LAB / "models/Qwen3.6-27B/config.json").read_text()),
        declared_gpus=host["inference_host_gpus"],
        **{name: host[f"sglang_server_{name}"] for name in ("host", "port", "tensor_parallel_size", "settings")},
    )
    lines = render_report({**found, "notes": ["the host was not asked (plan_source is inventory)"]}, "ct129")
    shown = (ROOT / "docs/explain.md").read_text().partition("<!-- begin plan -->\n```\n")[2].partition("\n```\n<!-- end plan -->")[0]
    assert shown.split("\n") == lines
