# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What holds the checkout together: the link, the lists, the documents' links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("roles/*/README.md"), *ROOT.glob("tests/**/*.md")]
)


def test_collection_link_is_relative_and_leads_to_the_root() -> None:
    link = ROOT / ".collections/ansible_collections/inference/sglang"
    assert os.readlink(link) == "../../.."
    assert link.resolve() == ROOT


def test_link_is_not_in_the_tarball() -> None:
    assert ".collections" in yaml.safe_load((ROOT / "galaxy.yml").read_text())["build_ignore"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text()):
        if not re.match(r"[a-z]+:", target):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_readme_names_only_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"`make ([a-z-]+)", (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()))
    assert named <= targets


def test_every_make_target_runs_something_that_exists() -> None:
    for script in set(re.findall(r"^\t((?:scripts|demo)/[\w-]+)", (ROOT / "Makefile").read_text(), re.M)):
        assert os.access(ROOT / script, os.X_OK), script


def test_changelog_fragments_are_valid() -> None:
    run = subprocess.run(
        [str(Path(sys.executable).parent / "antsibull-changelog"), "lint"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("version", ["2.19", "2.20", "2.21"])
def test_every_modules_licence_is_excused_to_ansible_test(version: str) -> None:
    """The sanity stage would say so, minutes later."""
    excused = re.findall(
        r"^(plugins/(?:callback|modules)/\w+\.py) validate-modules:missing-gplv3-license",
        (ROOT / f"tests/sanity/ignore-{version}.txt").read_text(),
        re.M,
    )
    looked_at = [*(ROOT / "plugins/callback").glob("*.py"), *(ROOT / "plugins/modules").glob("*.py")]
    assert excused == sorted(str(path.relative_to(ROOT)) for path in looked_at)


def test_tools_are_never_made_with_an_interpreter_that_may_be_replaced() -> None:
    """With .venv/current/bin on the PATH the environment's own interpreter was chosen, and then deleted with the environment."""
    usable = re.search(r"^usable\(\) \{.*?^\}$", (ROOT / "scripts/venv").read_text(), re.M | re.S)
    assert usable
    minor = str(sys.version_info.minor)
    assert sys.prefix != sys.base_prefix, "these tests run in an environment"
    verdicts = [
        subprocess.run(["bash", "-c", f'{usable[0]}\nusable "$@"', "-", python, minor], check=False).returncode
        for python in (sys.executable, os.path.realpath(sys.executable))
    ]
    assert verdicts == [1, 0]


def test_test_tools_are_hashed() -> None:
    text = (ROOT / "tests/requirements.txt").read_text()
    pins = re.findall(r"^([\w.-]+)==", text, re.M)
    assert len(pins) > 30
    for block in re.split(r"^(?=[\w.-]+==)", text, flags=re.M)[1:]:
        assert "--hash=sha256:" in block, block.splitlines()[0]
