# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a launch plan refuses, and the choices that need no arithmetic: size of the group, page size, advice."""

from __future__ import annotations

from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils import _tensor_parallel
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._gpus import Gpu
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile
from ansible_collections.inference.sglang.plugins.module_utils._nodes import Nodes
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_mapping, shown
from ansible_collections.inference.sglang.plugins.module_utils._quantization import Quantization
from ansible_collections.inference.sglang.plugins.module_utils._releases import UNVERIFIED, Release, first_release, place
from ansible_collections.inference.sglang.plugins.module_utils._releases_environment import unknown_variable
from ansible_collections.inference.sglang.plugins.module_utils._speculative import Speculation
from ansible_collections.inference.sglang.plugins.module_utils._weights import Evidence
from ansible_collections.inference.sglang.plugins.module_utils._wishes import SETTINGS, Wishes

_SM100 = (100, 103)
DERIVED = "config.json and the number of GPUs"
"""Where the size of the group is from when nobody set it."""


def need_gpus(cards: list[Gpu]) -> list[Gpu]:
    """The cards, of which there has to be one."""
    if not cards:
        raise SglangError(
            "No GPU is known, so nothing can be sized.",
            found="gpus: []",
            wanted="a list of {name, memory_mib, compute_capability}",
            next_step="Install NVIDIA's driver, or declare inference_host_gpus in the inventory.",
        )
    return cards


def refuse_unplanned(profile: ModelProfile, release: Release, on_cpu: bool) -> None:
    """Refuse models that the engine does not serve, or for which nothing is derived yet."""
    architecture = profile.architecture
    family = profile.recurrent_family
    if not architecture.served:
        raise SglangError(
            f"SGLang {release.version} does not serve {architecture.name}.",
            found=f"architectures: {architecture.name}, which no SGLang release so far has a class for",
            wanted="a model that this release serves",
            next_step="Take another engine for this model, or another model.",
        )
    if not architecture.sizing:
        raise SglangError(
            f"{architecture.name} has no memory rule yet, so no launch plan is derived for it.",
            found=f"layers: {shown(dict(profile.layers.spelled))}",
            wanted="an architecture whose weights and caches are sized here",
        )
    if family == "gdn" and architecture.name not in release.gdn_architectures:
        raise SglangError(
            f"SGLang {release.version} does not serve {architecture.name}.",
            found=f"architectures: {architecture.name}",
            wanted="one of " + ", ".join(sorted(release.gdn_architectures)),
            next_step="Take a release that serves the text-only class, or the checkpoint with its multimodal wrapper.",
        )
    if family != "none" and on_cpu:
        raise SglangError(
            "Models with recurrent layers are not served on a CPU: the engine's packages hold no CPU kernels for them.",
            found=f"device: cpu, recurrent family {family}",
            wanted="a GPU, or a plain transformer",
        )


def refuse_cards(release: Release, cards: list[Gpu]) -> None:
    """Refuse cards on which the engine ends as it loads the weights."""
    for gpu in cards:
        if gpu.capability < release.oldest_card:
            raise SglangError(
                f"SGLang {release.version} does not run on {gpu.name}.",
                found=f"compute capability {gpu.capability_text}",
                wanted=f"{_dotted(release.oldest_card)} or higher ({place(release, 'oldest_card')})",
                next_step="Take other GPUs (sglang_server_gpus), or correct compute_capability where the inventory declares them.",
            )


def _dotted(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"


def _refuse_misread(profile: ModelProfile, release: Release, algorithms: set[str]) -> None:
    """Refuse a ModelOpt checkpoint of mixed precision that the release takes for another format: its tensors have other shapes there."""
    taken = release.modelopt_mixed == "listed" and bool(algorithms & {"NVFP4", "W4A16_NVFP4"})
    if taken or (release.modelopt_mixed == "nemotron_h" and profile.architecture.name.startswith("NemotronH")):
        return
    raise SglangError(
        f"SGLang {release.version} takes this ModelOpt checkpoint of mixed precision for w4afp8, which it is not.",
        found=f"quant_algo: MIXED_PRECISION, architectures: {profile.architecture.name} ({place(release, 'modelopt_mixed')})",
        wanted=f"SGLang {first_release('modelopt_mixed', 'listed')} or newer, which reads the checkpoint's list of layers",
        next_step="Set ml_env_sglang_version to a newer release, or take another checkpoint of the model.",
    )


def _refuse_without_group(quantization: Quantization, release: Release) -> None:
    """Refuse an NVFP4 checkpoint whose description leaves out the size of its groups, where the release does not take it for granted."""
    read = quantization.source.split(" and ")[0]
    if quantization.rules.group_named or (read == "config.json" and release.nvfp4_group_assumed):
        return
    raise SglangError(
        f"SGLang {release.version} does not load this NVFP4 checkpoint: its {read} names no group_size.",
        found=f"{read}: quant_algo {quantization.algorithm}, without group_size ({place(release, 'nvfp4_legacy')})",
        wanted="group_size, which its publisher's file names (16 for NVFP4)",
        next_step=f"Fetch {read} again from the model's repository; it is not complete.",
    )


def refuse_quantization(profile: ModelProfile, release: Release, gpu: Optional[Gpu]) -> None:
    """Refuse weights that the cards cannot run."""
    quantization = profile.quantization
    if quantization is None or gpu is None:
        return
    method = quantization.engine_method
    if method == "modelopt_mixed":
        _refuse_misread(profile, release, {algorithm for _module, algorithm in quantization.rules.listed})
    minimum = dict(release.minimum_capability).get(method, 0)
    if gpu.capability < minimum:
        raise SglangError(
            f"{method} weights do not run on {gpu.name}.",
            found=f"compute capability {gpu.capability_text}",
            wanted=f"{_dotted(minimum)} or higher in SGLang {release.version}",
            next_step="Take another checkpoint of the model (bf16, or a quantisation this card supports), or other GPUs.",
        )
    if method == "modelopt_fp4":
        _refuse_without_group(quantization, release)
    if quantization.method == "mlx":
        raise SglangError("An MLX checkpoint does not run on NVIDIA GPUs.", found=f"quantization: {method}", wanted="the original weights")


def refuse_backend(profile: ModelProfile, release: Release, wishes: Fields, gpus: list[Gpu]) -> None:
    """Refuse an attention backend that the engine refuses for a hybrid model on Blackwell, once its weights are loaded."""
    if profile.recurrent_family != "gdn":
        return
    for gpu in gpus:
        allowed = dict(release.blackwell_backends).get({10: "sm100", 12: "sm120"}.get(gpu.capability // 10, ""))
        for key in ("attention_backend", "prefill_attention_backend", "decode_attention_backend"):
            backend = wishes.text(key)
            if allowed is not None and backend is not None and backend not in allowed:
                raise SglangError(
                    f"SGLang {release.version} refuses {key} {backend} for {profile.architecture.name} on {gpu.name}.",
                    found=f"{key}: {backend}, compute capability {gpu.capability_text} ({place(release, 'blackwell')})",
                    wanted="one of " + ", ".join(allowed) + ", or none: the engine picks one that works",
                    next_step=f"Remove {key}.",
                )


def smallest(gpus: list[Gpu]) -> Gpu:
    """The card that limits a plan."""
    return min(gpus, key=lambda gpu: (gpu.memory_mib, gpu.capability, gpu.name))


def smallest_capability(gpus: list[Gpu]) -> int:
    """Compute capability times ten of the oldest card."""
    return min(gpu.capability for gpu in gpus)


def choose_size(
    profile: ModelProfile, wishes: Wishes, wanted: object, available: int, nodes: int, sizes: list[int]
) -> tuple[int, str, str]:
    """How many GPUs to split over, of so many on each host: (number, why, source)."""
    asked, source = wishes.fields.integer("tensor_parallel_size", 1, _tensor_parallel.MAXIMUM), SETTINGS
    if wanted not in (None, 0, "", "0"):
        if isinstance(wanted, bool) or not isinstance(wanted, int) or not 1 <= wanted <= _tensor_parallel.MAXIMUM:
            raise SglangError("tensor_parallel_size cannot be used.", found=shown(wanted), wanted="a whole number, or 0 to derive it")
        if asked is not None and asked != wanted:
            raise SglangError(
                "Two sizes of tensor parallelism are set.",
                found=f"tensor_parallel_size {wanted}, {SETTINGS} {asked}",
                wanted="one of the two",
            )
        asked, source = int(wanted), "sglang_server_tensor_parallel_size"
    total = available * nodes
    if asked is not None:
        _tensor_parallel.check(profile, asked, total)
        if asked > total and wishes.fields.text("device") != "cpu":
            raise SglangError(
                f"Tensor parallelism over {asked} GPUs needs more GPUs than there are.",
                found=f"{total} GPUs",
                wanted=f"{asked}",
                next_step="Lower sglang_server_tensor_parallel_size, or give the instance more GPUs (sglang_server_gpus).",
            )
        if asked % nodes:
            raise SglangError(
                f"{asked} GPUs do not lie evenly on {nodes} nodes.",
                found=f"tensor_parallel_size {asked}",
                wanted=f"a multiple of {nodes}: SGLang asserts it",
            )
        return asked, f"{asked} of {total} GPUs, as set; every sharded dimension divides", source
    if not sizes:
        _tensor_parallel.check(profile, nodes, total)
        raise SglangError(
            f"No size divides this model evenly over {nodes} nodes of {available} GPUs.",
            found=f"{total} GPUs",
            wanted=f"a multiple of {nodes} that divides every sharded dimension",
        )
    size = sizes[-1]
    return size, f"{size} of {total} GPUs: the largest size that divides every sharded dimension", DERIVED


def page_size(release: Release, wishes: Fields, speculation: Speculation, gpu: Gpu) -> tuple[int, Optional[str]]:
    """Tokens of a cache page, with a note where the engine picks it by itself."""
    own = wishes.integer("page_size", 1, 1 << 20)
    if own is not None:
        return own, None
    auto = wishes.text("attention_backend") is None and speculation.strategy != "none"
    with_it = release.sm100_pages_with_speculation and speculation.enabled
    without = release.sm100_pages_without_speculation and speculation.strategy == "extra_buffer"
    if gpu.capability in _SM100 and auto and (with_it or without):
        return 64, (
            f"On compute capability {gpu.capability_text} SGLang {release.version} picks attention backend trtllm_mha "
            "and page size 64 for this command."
        )
    return 1, None


def check_environment(release: Release, environment: object) -> list[str]:
    """Variables that the release no longer reads, or never did."""
    warnings = []
    for name in plain_mapping(environment, "sglang_server_environment"):
        gone = dict(release.removed_environment).get(name) or unknown_variable(release, name)
        if gone:
            warnings.append(f"{name} means nothing to SGLang {release.version}: {gone}.")
    return warnings


def warnings(
    profile: ModelProfile, release: Release, speculation: Speculation, gpus: list[Gpu], size: int, evidence: Evidence, nodes: Nodes
) -> list[str]:
    """What a person should know beside the figures."""
    found = []
    if not release.is_verified:
        newer = f"newer than the release table and planned as {release.options}" if release.status != UNVERIFIED else "unverified"
        found.append(f"SGLang {release.version} is {newer}: only the engine check on the host can tell whether it takes this command.")
    if speculation.provisional:
        found.append("Speculation is provisional: the headers of the weights were not read, and only they can tell.")
    elif speculation.enabled and evidence.kind == "index":
        found.append("MTP tensors are named by the index only; the shards' headers were not read.")
    if len({(gpu.name, gpu.memory_mib, gpu.capability) for gpu in gpus}) > 1:
        found.append("The GPUs are not alike; the plan reckons with the smallest.")
    if gpus and smallest_capability(gpus) < release.bfloat16_card:
        found.append(
            f"On compute capability below {_dotted(release.bfloat16_card)} SGLang {release.version} loads the model in float16, whatever "
            "dtype says: values that bfloat16 holds can overflow in it."
        )
    each = size // nodes.count
    if gpus and each < len(gpus):
        found.append(f"{len(gpus) - each} of {len(gpus)} GPUs stay idle{' on each node' if nodes.count > 1 else ''}.")
    if nodes.missing:
        found.append(f"The command is for {nodes.count} nodes and cannot be started without {' and '.join(nodes.missing)}.")
    if size > 1 and nodes.count == 1 and gpus and smallest(gpus).capability in (90, *_SM100) and release.allreduce_off_option:
        found.append(
            f"With several such GPUs SGLang {release.version} turns FlashInfer's allreduce fusion on by itself. Where its start hangs "
            f"after the dispatcher line, set {release.allreduce_off_option}: true."
        )
    quantization = profile.quantization
    if quantization is not None and quantization.mtp_unquantized is False and speculation.enabled:
        found.append("The checkpoint's list of unquantised modules does not name mtp: watch the accept length.")
    if speculation.fault:
        found.append(f"Speculation is on as the settings say, but {speculation.fault}.")
    if not release.memory_measured:
        found.append(f"Memory figures for SGLang {release.version} are calculated from its source, not measured.")
    return found
