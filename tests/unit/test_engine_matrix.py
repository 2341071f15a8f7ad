# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The engine matrix's own parts, without an engine: what its cells are, how they are judged, and the reviewed files."""

from __future__ import annotations

import dataclasses
import importlib
import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._engine_runner import MARKER
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import profile_model
from ansible_collections.inference.sglang.plugins.module_utils._weights import checkpoint_bytes

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.engine_matrix import answers, cells, environments, independent, judge, later_checks, matrix, resident, reviewed

PREDICTED = {"mem_fraction_static": 0.8, "page_size": 1}
CELL = cells.Cell("0.5.11", "Qwen3-8B", "H200", 1, 2, {"predicted": PREDICTED, "argv": [], "env": {}})
REFUSED = cells.Cell("0.5.11", "GLM-5", "A6000", 1, 8, None, "the weights alone exceed the card", "memory", {"model_path": "/m"})


def raw(resolved: dict[str, Any] | None = None, text: str = "", later: Any = (), **more: Any) -> dict[str, Any]:
    """An answer of the resident process."""
    said = {"accepted": not text, "stage": "resolve", "kind": "ValueError", "text": text, "resolved": {**PREDICTED, **(resolved or {})}}
    return {"output": MARKER + json.dumps(said), "errors": "", "status": 0, "later": list(later), **more}


NO_CLASS = {"check": "model class", "verdict": "refused", "text": "ValueError: not supported"}
NOT_ASKED = {"check": "expert shapes", "verdict": "unasked", "text": "ImportError: no kernels"}


@pytest.mark.parametrize(
    ("cell", "answer", "end", "what"),
    [
        (CELL, raw(), judge.ACCEPTED, ""),
        (CELL, raw(later=[NOT_ASKED]), judge.ACCEPTED, ""),
        (CELL, raw({"page_size": 64}), judge.DIFFERS, "page_size 1 -> 64"),
        (CELL, raw(text="no such thing"), judge.DIFFERS, "refuses the planned command"),
        (CELL, raw(later=[NO_CLASS]), judge.DIFFERS, "refuses the planned command"),
        (CELL, {**raw(), "output": "", "status": -11}, judge.DIFFERS, "refuses the planned command"),
        (REFUSED, raw(text="no such thing"), judge.REFUSED, "memory; the engine refuses, too"),
        (REFUSED, raw(later=[NO_CLASS]), judge.REFUSED, "memory; the engine refuses, too"),
        (REFUSED, raw(), judge.REFUSED, "memory; the weights exceed the memory"),
    ],
)
def test_every_cell_ends_by_what_the_engine_says(cell: cells.Cell, answer: Any, end: str, what: str) -> None:
    verdict = judge.judge(cell, answer)
    assert verdict.end == end
    assert what in verdict.what


@pytest.mark.parametrize(("cards", "fraction", "end"), [(32, 0.8, judge.REFUSED), (64, 0.8, judge.UNPROVEN), (64, 0.3, judge.REFUSED)])
def test_a_refusal_for_want_of_memory_needs_the_weights_own_sum(cards: int, fraction: float, end: str) -> None:
    cell = cells.Cell("0.5.11", "GLM-5", "A6000", cards // 8, 8, None, "no room", "memory", {"model_path": "/m"})
    assert judge.judge(cell, raw({"mem_fraction_static": fraction})).end == end


def test_a_refusal_of_a_model_that_nobody_counted_is_unproven() -> None:
    cell = cells.Cell("0.5.11", "Kimi-Linear-48B-A3B-Instruct", "L40S", 1, 1, None, "no room", "memory", {"model_path": "/m"})
    assert judge.judge(cell, raw()).end == judge.UNPROVEN


def test_the_independent_sum_is_a_lower_bound_of_the_plans() -> None:
    """It counts no MTP layer, no scale and no exception, so it may never be more than what the plan reckons with."""
    compared = 0
    for model in cells.all_models():
        total, profile = independent.weight_bytes(model), profile_model(cells.read(model), cells.read(model, ".hf_quant_config"))
        if total is not None and profile.architecture.sizing:
            assert total <= 1.001 * checkpoint_bytes(profile), model
            compared += 1
    assert compared > 30


def test_the_natural_command_is_what_a_person_would_give() -> None:
    settings = {"model_path": "/m", "dist_init_addr": "10.0.0.1:5000"}
    two = cells.Cell("0.5.11", "Kimi-K2-Instruct", "A6000", 2, 8, settings=settings)
    assert " ".join(two.natural) == (
        "--model-path /m --tp-size 16 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000 --trust-remote-code"
    )


def test_every_model_gets_a_plan_on_some_card_or_words_for_why_not(tmp_path: Path) -> None:
    kinds = set()
    for model in cells.all_models():
        cell = cells.plan_cell("0.5.11", model, "L40S", tmp_path)
        assert (cell.plan is None) == bool(cell.refusal)
        kinds.add(cell.kind)
    assert {"", "memory", "not served", "quantisation"} <= kinds
    assert "other" not in kinds


def test_a_command_is_asked_once_and_again_when_anything_about_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def put(_release: str, _python: Path, questions: Any, program: str) -> Any:
        for batch in questions.values():
            for question in batch:
                asked.append(question["id"])
                yield {"id": question["id"], "output": "said"}

    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(answers, "make", lambda _release: tmp_path / "bin/python")
    monkeypatch.setattr(answers, "_put", put)
    one, other = {"id": "a", "model": "M", "argv": ["--tp-size", "1"]}, {"id": "b", "model": "M", "argv": ["--tp-size", "2"]}
    answers.ask("0.5.11", {"H200": [one]})
    found = answers.ask("0.5.11", {"H200": [one, other], "A100": [{**one, "id": "c"}]})
    assert asked == ["a", "b", "c"]
    assert set(found) == {"a", "b", "c"}
    answers.ask("0.5.11", {"H200": [{**one, "env": {"X": "1"}}]})
    answers.ask("0.5.23", {"H200": [one]})
    answers.ask("0.5.11", {"H200": [one]}, fresh=True)
    assert asked == ["a", "b", "c", "a", "a", "a"]
    (tmp_path / "answers.jsonl").open("a").write('{"key": "cut of')
    assert answers.ask("0.5.11", {"H200": [one]})["a"]["output"] == "said"


def test_a_misread_checkpoint_is_asked_with_a_weight_and_by_a_program_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weight's check must not ask all other cells again, nor answer for them."""
    put: list[tuple[str, list[str]]] = []

    def answered(_release: str, _python: Path, questions: Any, program: str) -> Any:
        put.append((program, [question["id"] for batch in questions.values() for question in batch]))
        return [{"id": question["id"]} for batch in questions.values() for question in batch]

    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(answers, "make", lambda _release: tmp_path / "bin/python")
    monkeypatch.setattr(answers, "_put", answered)
    misread = dataclasses.replace(REFUSED, kind="misread")
    assert [matrix.question(cell)["program"] for cell in (CELL, REFUSED, misread)] == [answers.PLAIN, answers.PLAIN, answers.WEIGHTS]
    same = {"model": "M", "argv": ["--tp-size", "1"]}
    both = [{**same, "id": "plain", "program": answers.PLAIN}, {**same, "id": "weight", "program": answers.WEIGHTS}]
    for _again in range(2):
        assert set(answers.ask("0.5.11", {"H200": both, "A100": [{**same, "id": "other"}]})) == {"plain", "weight", "other"}
    assert put == [(answers.PLAIN, ["plain", "other"]), (answers.WEIGHTS, ["weight"])]


@pytest.mark.parametrize(
    ("held", "own", "verdict", "said"),
    [
        (AssertionError(), None, "refused", "AssertionError at"),
        (None, None, "accepted", "gate_proj of (8, 2) torch.uint8 into a weight of (8, 4)"),
        (ValueError("no"), ValueError("nor this"), "unasked", "refuses a tensor of its own kind, too: ValueError: nor this"),
    ],
)
def test_a_weight_counts_as_refused_only_where_one_of_its_own_kind_is_taken(
    shapes: Any, held: Exception | None, own: Exception | None, verdict: str, said: str
) -> None:
    found = shapes({"torch.uint8": held, "float8": own})
    assert (found["check"], found["verdict"]) == ("weight shapes", verdict)
    assert said in found["text"]


def test_what_is_wrong_with_the_weights_check_itself_is_no_refusal(shapes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later_checks, "_model_config", lambda _args: 1 / 0)
    assert shapes({})["verdict"] == "unasked"


@pytest.mark.parametrize(("earlier", "checks"), [("refused", ["quantization"]), ("accepted", ["quantization", "weight shapes"])])
def test_a_weight_is_handed_over_only_where_nothing_was_refused_before(weights: Any, earlier: str, checks: list[str]) -> None:
    weights.before = lambda _args: [{"check": "quantization", "verdict": earlier, "text": ""}]
    weights.check = lambda _args: {"check": "weight shapes", "verdict": "refused", "text": ""}
    assert [item["check"] for item in weights.run(None)] == checks


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program, which imports its neighbours as scripts do, with a torch that only names shapes."""
    tensor = types.SimpleNamespace
    torch = types.SimpleNamespace(uint8="torch.uint8", zeros=lambda *shape, dtype: tensor(shape=shape, dtype=dtype))
    for name, module in (("later_checks", later_checks), ("resident", resident), ("torch", torch)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "tests.engine_matrix.weight_shapes", raising=False)
    return importlib.import_module("tests.engine_matrix.weight_shapes")


@pytest.fixture
def shapes(weights: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The check on a small model, whose loader says this against tensors of these types."""
    config = types.SimpleNamespace(hf_text_config=types.SimpleNamespace(hidden_size=4, intermediate_size=8), quantization="w4afp8")
    monkeypatch.setattr(later_checks, "_model_config", lambda _args: config)
    monkeypatch.setattr(weights, "_quantization", lambda _config: None)

    def asked(words: dict[str, Exception | None]) -> dict[str, str]:
        def loader(_weight: Any, tensor: Any, _half: int) -> None:
            error = words[tensor.dtype]
            if error is not None:
                raise error

        weight = types.SimpleNamespace(shape=(16, 4), dtype="float8", weight_loader=loader)
        monkeypatch.setattr(weights, "_layer", lambda _sizes, _quantization: types.SimpleNamespace(weight=weight))
        return weights.check(None)

    return asked


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty reviewed files."""
    monkeypatch.setattr(reviewed, "FOLDER", tmp_path)
    monkeypatch.setattr(reviewed, "FILES", {judge.REFUSED: tmp_path / "refused.txt", judge.DIFFERS: tmp_path / "differs.txt"})
    return tmp_path


def test_a_new_a_changed_and_a_vanished_refusal_fail_a_run(files: Path) -> None:
    refused = judge.Verdict(REFUSED, judge.REFUSED, "memory; the weights exceed the memory")
    assert "reviewed: planned and accepted" in reviewed.compare([refused])[0]
    reviewed.write([refused])
    assert not reviewed.compare([refused])
    assert not reviewed.compare([])  # a slice says nothing of cells that it did not run
    assert reviewed.compare([judge.Verdict(REFUSED, judge.ACCEPTED)])
    assert reviewed.compare([judge.Verdict(REFUSED, judge.REFUSED, "not served; the engine refuses, too")])
    assert reviewed.compare([judge.Verdict(REFUSED, judge.UNPROVEN, "memory")])


def test_a_part_of_the_matrix_leaves_the_rest_of_the_files_alone(files: Path) -> None:
    """`--write` after a slice must not drop what the slice did not run."""
    newer = dataclasses.replace(REFUSED, release="0.5.23")
    both = [judge.Verdict(cell, judge.REFUSED, "memory; the weights exceed the memory") for cell in (newer, REFUSED)]
    reviewed.write(both)
    reviewed.write(both[:1])
    assert not reviewed.compare(both)
    reviewed.write([judge.Verdict(newer, judge.ACCEPTED)])
    assert [line.releases for line in reviewed.read(judge.REFUSED)] == [("0.5.11",)]


def test_a_difference_needs_a_cause_written_by_hand(files: Path) -> None:
    differs = judge.Verdict(CELL, judge.DIFFERS, "page_size 1 -> 64")
    reviewed.write([differs])
    assert "no cause" in reviewed.compare([differs])[0]
    path = files / "differs.txt"
    path.write_text(path.read_text().replace(reviewed.NO_CAUSE, "seen in the wheel"))
    assert not reviewed.compare([differs])
    reviewed.write([differs])
    assert "seen in the wheel" in path.read_text()


def test_the_committed_files_are_sorted_and_every_difference_has_its_cause() -> None:
    for end, path in reviewed.FILES.items():
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert lines == sorted(set(lines))
        for line in reviewed.read(end):
            assert line.model in cells.all_models() and line.card in cells.CARDS
            assert end == judge.REFUSED or line.cause not in ("", reviewed.NO_CAUSE)


def test_pins_come_from_the_wheel_without_extras_and_optional_groups() -> None:
    metadata = (
        "Requires-Dist: Transformers==5.6.0\nRequires-Dist: flashinfer_python[cu13]==0.7.2\nRequires-Dist: torch==2.11.0\n"
        'Requires-Dist: transformers; extra == "test"\n\nRequires-Dist is explained here\n'
    )
    assert environments.pins(metadata, frozenset(environments.wanted()) - environments.OURS) == ["Transformers==5.6.0"]
    assert environments.pins(metadata, environments.KERNELS) == ["flashinfer_python==0.7.2"]


def test_every_wanted_package_has_a_version_that_somebody_tried() -> None:
    pinned = {environments.normal(line) for line in (environments.HERE / "constraints.txt").read_text().splitlines() if "==" in line}
    assert set(environments.wanted()) - pinned <= {"transformers", "openai"}  # which every release pins


def test_classes_are_read_as_the_registry_reads_them(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("\ufeffclass A: ...\nclass B: ...\nEntryClass = A\n")
    (tmp_path / "many.py").write_text("EntryClass: list = [\n    C,  # not D\n    E,\n]\n")
    (tmp_path / "none.py").write_text("class Registry:\n    EntryClass = F\n# EntryClass = G\n")
    assert later_checks.registered_classes(tmp_path) == {"A", "C", "E"}


def test_later_checks_stop_at_the_first_refusal_and_say_what_was_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_config: object) -> None:
        raise ValueError("no such class")

    def not_here(_config: object) -> None:
        raise later_checks.Unasked("no kernels")

    monkeypatch.setattr(later_checks, "_model_config", lambda _args: "config")
    monkeypatch.setattr(later_checks, "_model_class", not_here)
    monkeypatch.setattr(later_checks, "_quantization", refuse)
    found = later_checks.run(object())
    assert [item["verdict"] for item in found] == ["accepted", "unasked", "refused"]
    assert found[-1]["text"] == "ValueError: no such class"


@pytest.mark.parametrize("fault", [NameError("envs"), ImportError("no kernels"), later_checks.Unasked("not here")])
def test_a_fault_of_the_asking_is_no_refusal(fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen with 0.5.14: a function taken from its module without what it reads there looked like the engine's refusal."""

    def broken(*_arguments: object) -> None:
        raise fault

    monkeypatch.setattr(later_checks, "_model_config", lambda _args: "config")
    for name in ("_model_class", "_quantization", "_expert_shapes"):
        monkeypatch.setattr(later_checks, name, broken)
    assert [item["verdict"] for item in later_checks.run(object())] == ["accepted", "unasked", "unasked", "unasked"]


def test_a_function_is_taken_from_its_source_with_what_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later_checks, "_module", lambda *_names: types.SimpleNamespace(envs={"X": 1}))
    path = tmp_path / "model_runner.py"
    path.write_text("import no_such_kernel\nclass R:\n    def check(self):\n        return envs['X'] + (0 if _use_aiter else self)\n")
    assert later_checks._from_source(path, "check")(2) == 3
    with pytest.raises(later_checks.Unasked):
        later_checks._from_source(path, "other")


def test_a_fork_gives_its_status_and_never_comes_back() -> None:
    def done(status: int) -> None:
        raise resident.Done(status)

    def broken() -> None:
        raise RuntimeError("expected by the test")

    assert [resident.in_fork(lambda: done(3)), resident.in_fork(lambda: None), resident.in_fork(broken)] == [3, 0, 1]


def test_the_fake_card_answers_what_is_asked_of_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.engine_matrix import fake_card

    torch: Any = types.ModuleType("torch")
    torch.version, torch.cuda = types.SimpleNamespace(), types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    fake_card.install(cells.CARDS["L40S"], "13.0", tmp_path)
    assert torch.cuda.get_device_capability(0) == (8, 9)
    assert torch.cuda.get_device_properties().total_memory == 46068 * 2**20
    assert torch.version.cuda == "13.0"
    assert (tmp_path / "nvidia-smi").read_text().count("echo 46068") == fake_card.COUNT
