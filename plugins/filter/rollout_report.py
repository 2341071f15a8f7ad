# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A rollout's report from hosts' records or from a journal."""

from __future__ import annotations

import json
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import plain
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report import build_report
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_events import parse_journal
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_page import headline, page
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_records import events_of

DOCUMENTATION = r"""
name: rollout_report
short_description: The report of a rollout as HTML and JSON
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Makes the report that the callback P(inference.sglang.rollout_report#callback) writes, afterwards.
positional: lost
options:
  _input:
    description: The text of a journal, or a dictionary of hosts, each with the C(instances) of M(inference.sglang.server_records).
    type: raw
    required: true
  lost:
    description: Hosts that could not be asked.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- ansible.builtin.copy:
    content: "{{ (lookup('ansible.builtin.file', journal) | inference.sglang.rollout_report).html }}"
    dest: /tmp/rollout-report.html
    mode: "0644"
"""

RETURN = r"""
_value:
  description: The report as C(html) and C(json), and its C(headline).
  type: dict
"""


def rollout_report(records: Any, lost: Any = ()) -> dict[str, str]:
    """The report's two files and its first line."""
    try:
        events = parse_journal(records) if isinstance(records, str) else events_of(plain(records, "records"), plain(lost, "lost"))
    except SglangError as error:
        raise AnsibleFilterError(str(error)) from error
    report = build_report(events)
    return {"html": page(report), "json": json.dumps(report.as_data(), indent=1, allow_nan=False) + "\n", "headline": headline(report)}


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        """The filters of this file."""
        return {"rollout_report": rollout_report}
