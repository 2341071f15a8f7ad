# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The lab leaves a machine as it found it, whatever else lives there. Tried in a network of its own (tests/testbed/isolated)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTBED = Path(__file__).resolve().parents[1] / "testbed"
MAIN_LAB = Path(os.environ.get("SGLANG_LAB") or "/var/lib/inference-sglang-lab")

FOREIGN_NFT = """
nft -f - <<'N'
table inet site {
  chain site_forward { type filter hook forward priority filter; policy drop; ct state established accept; }
  chain site_input { type filter hook input priority filter; policy drop; iifname "lo" accept; }
}
N
"""
DOCKER = """
iptables-nft -N DOCKER-USER
iptables-nft -A DOCKER-USER -j RETURN
iptables-nft -A FORWARD -j DOCKER-USER
iptables-nft -P FORWARD DROP
"""


@pytest.fixture(scope="session")
def image() -> Path:
    subprocess.run([TESTBED / "lab", "build-rootfs", "bookworm"], check=True, stdin=subprocess.DEVNULL)
    return MAIN_LAB / "rootfs-bookworm"


@pytest.fixture
def lab(image: Path, tmp_path: Path) -> Iterator[Path]:
    # /var/tmp: an overlay's upper folder cannot lie on every kind of /tmp
    folder = Path("/var/tmp") / f"inference-sglang-{tmp_path.parent.name}-{tmp_path.name}"[:60]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / ".lab").touch()
    (folder / "rootfs-bookworm").symlink_to(image)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def isolated(lab: Path, script: str) -> str:
    environment = {**os.environ, "SGLANG_LAB": str(lab)}
    text = f"set -euo pipefail\nlab={TESTBED}/lab snapshot={TESTBED}/snapshot\n{script}"
    done = subprocess.run(
        [TESTBED / "isolated", "bash", "-c", text], check=False, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_clean_leaves_nothing(lab: Path, image: Path, tmp_path: Path) -> None:
    (lab / "rootfs-bookworm").unlink()  # so that the folder is the same before and after
    out = isolated(
        lab,
        f"""
        $snapshot > {tmp_path}/before
        ln -s {image} "$SGLANG_LAB"/
        $lab up tz1 31
        $lab up tz2 32 bookworm --offline
        $lab hub-up
        $lab shell tz1 systemctl is-active ssh
        if $lab shell tz2 timeout 3 bash -c '"</dev/tcp/192.0.2.254/80"' 2>&1; then echo "got out"; fi
        $lab clean
        $snapshot > {tmp_path}/after
        diff {tmp_path}/before {tmp_path}/after
        """,
    )
    assert "tz1 (bookworm) is up at 10.97.0.31" in out
    assert "Connection refused" in out
    assert "got out" not in out
    assert not lab.exists()


@pytest.mark.parametrize("rules", [FOREIGN_NFT, DOCKER], ids=["nft", "docker"])
def test_other_firewall_lets_hosts_through_and_is_put_back(lab: Path, tmp_path: Path, rules: str) -> None:
    if rules is DOCKER and shutil.which("iptables-nft") is None:
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "iptables"], check=True, stdin=subprocess.DEVNULL)
    show = "iptables-nft -S 2>/dev/null" if rules is DOCKER else "nft list table inet site"
    out = isolated(
        lab,
        f"""{rules}
        nft list ruleset > {tmp_path}/before
        $lab net-up
        $lab net-up
        {show}
        $lab net-down
        nft list ruleset > {tmp_path}/after
        diff {tmp_path}/before {tmp_path}/after
        $lab clean
        """,
    )
    # once in each foreign chain, though the network came up twice
    if rules is DOCKER:
        assert out.count("-A DOCKER-USER -i sgl9 -m comment --comment inference_sglang_lab_sgl9 -j ACCEPT") == 1
    else:
        assert out.count('iifname "sgl9" accept comment "inference_sglang_lab_sgl9"') == 2


@pytest.mark.parametrize(
    "taken",
    ["ip addr add 10.97.0.7/16 dev up0", "ip route add 10.96.0.0/12 via 192.0.2.254", "ip route add 10.97.0.128/25 via 192.0.2.254"],
    ids=["address", "wider-route", "narrower-route"],
)
def test_taken_subnet_is_left_alone(lab: Path, tmp_path: Path, taken: str) -> None:
    out = isolated(
        lab,
        f"""{taken}
        ip route > {tmp_path}/before
        $lab net-up
        $lab env
        $lab net-down
        ip route | diff {tmp_path}/before -
        $lab clean
        """,
    )
    assert "SGLANG_LAB_NET=10.197.0" in out


def test_free_subnet_is_the_known_one(lab: Path) -> None:
    assert "SGLANG_LAB_NET=10.97.0\n" in isolated(lab, "$lab env; $lab net-up; $lab env; $lab clean")


def test_folder_of_somebody_else_is_not_touched(lab: Path) -> None:
    (lab / ".lab").unlink()
    (lab / "precious").write_text("mine")
    out = isolated(lab, "if $lab up tz1 31 2>&1 || $lab clean 2>&1; then echo accepted; fi")
    assert "holds something that is not the lab's" in out
    assert "accepted" not in out
    assert (lab / "precious").read_text() == "mine"


@pytest.mark.full
def test_two_labs_may_have_hosts_of_one_name(lab: Path, image: Path) -> None:
    second = lab / "second"
    second.mkdir()
    (second / ".lab").touch()
    (second / "rootfs-bookworm").symlink_to(image)
    answered = isolated(
        lab,
        f"""
        other() {{ SGLANG_LAB={second} SGLANG_LAB_BRIDGE=sgl1 "$lab" "$@"; }}
        $lab up twin 21 && other up twin 21
        $lab shell twin 'echo first answers'
        other shell twin 'echo second answers'
        other down twin
        $lab shell twin 'echo first still answers'
        other clean && $lab clean --keep-state
        """,
    )
    for words in ("first answers", "second answers", "first still answers"):
        assert words in answered
