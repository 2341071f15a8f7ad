# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Failures of settings, of the command line and of the model's files."""

from __future__ import annotations

from ansible_collections.inference.sglang.plugins.module_utils._failure_types import GPU, SETTINGS, Failure

FAILURES: tuple[Failure, ...] = (
    # -- speculative decoding and the recurrent state's scheduler --------------------------------------------------------------
    Failure(
        "GATE-010",
        r"^AssertionError$",
        '  File "/opt/sglang/ml-env/lib/python3.12/site-packages/sglang/srt/server_args.py", line 3520, in '
        "_handle_speculative_decoding\n"
        "AssertionError",
        "some of the three speculative numbers are given and others are not: SGLang wants num_steps, eagle_topk and "
        "num_draft_tokens, or none of them",
        "give all three numbers, or none of them",
        f"{SETTINGS}.speculative_num_steps / speculative_eagle_topk / speculative_num_draft_tokens",
        "SGLang 0.5.11 server_args.py:3519, 0.5.23 speculative_hook.py:1162; " + GPU,
        # Which line of the assertion Python shows differs from version to version; the function does not.
        after=r"speculative_hook\.py\"|, in _handle_speculative_decoding$",
    ),
    Failure(
        "GATE-011",
        r"^TypeError: '>' not supported between instances of 'NoneType' and 'int'",
        "    self.speculative_eagle_topk > 1\nTypeError: '>' not supported between instances of 'NoneType' and 'int'",
        "steps and draft tokens are given without speculative_eagle_topk",
        "give speculative_eagle_topk as well (1 for MTP)",
        f"{SETTINGS}.speculative_eagle_topk",
        "SGLang 0.5.11 server_args.py:3549; " + GPU,
        after=r"speculative_eagle_topk",
    ),
    Failure(
        "GATE-012",
        r"^ValueError: Speculative decoding for (?P<model>\S+) is not compatible with radix cache when using "
        r"--mamba-scheduler-strategy no_buffer",
        "ValueError: Speculative decoding for Qwen3_5ForConditionalGeneration is not compatible with radix cache "
        "when using --mamba-scheduler-strategy no_buffer.",
        "the no_buffer strategy cannot keep the recurrent states that speculative verification needs beside the radix cache",
        "use mamba_scheduler_strategy: extra_buffer",
        f"{SETTINGS}.mamba_scheduler_strategy",
        "SGLang 0.5.11 server_args.py:2453; " + GPU,
    ),
    Failure(
        "GATE-013",
        r"^ValueError: mamba extra_buffer is not compatible with --disable-radix-cache",
        "ValueError: mamba extra_buffer is not compatible with --disable-radix-cache",
        "extra_buffer and disable_radix_cache exclude each other",
        "drop one of mamba_scheduler_strategy: extra_buffer and disable_radix_cache",
        f"{SETTINGS}.disable_radix_cache",
        "SGLang 0.5.11 server_args.py:2397; " + GPU,
    ),
    Failure(
        "GATE-014",
        r"^AssertionError: .*no_buffer do not support overlap schedule",
        "AssertionError: no_buffer do not support overlap schedule",
        "no_buffer cannot be used with the overlap schedule in this release",
        "drop no_buffer, or set disable_overlap_schedule: true",
        f"{SETTINGS}.mamba_radix_cache_strategy",
        "SGLang 0.5.23 mamba_hook.py:158",
    ),
    Failure(
        "GATE-015",
        r"mamba_track_interval (?P<interval>\d+) must be divisible by page_size (?P<page>\d+)",
        "AssertionError: mamba_track_interval 256 must be divisible by page_size 48",
        "the page size {page} does not divide mamba_track_interval {interval}",
        "use a page size that is a power of two up to 256",
        f"{SETTINGS}.page_size",
        "SGLang 0.5.11 and 0.5.23 sources",
    ),
    Failure(
        "GATE-016",
        r"^AssertionError: Page size must be 1 for MambaRadixCache v1, got (?P<page>\d+)",
        "AssertionError: Page size must be 1 for MambaRadixCache v1, got 128",
        "the no_buffer strategy only works with a page size of 1, not {page}",
        "use page_size: 1, or mamba_scheduler_strategy: extra_buffer",
        f"{SETTINGS}.page_size",
        "sgl-project/sglang PR 20538",
    ),
    Failure(
        "GATE-017",
        r"^TypeError: 'NoneType' object cannot be interpreted as an integer",
        '  File "/opt/sglang/ml-env/lib/python3.12/site-packages/sglang/srt/managers/schedule_batch.py", line 1593, in '
        "set_mamba_track_indices_from_reqs\n"
        "TypeError: 'NoneType' object cannot be interpreted as an integer",
        "a request with structured output ended the scheduler: this release cannot verify drafts for it with the overlap schedule",
        "set disable_overlap_schedule: true, or turn speculation off",
        f"{SETTINGS}.disable_overlap_schedule",
        "sgl-project/sglang issue 28407; measured on one H200, SGLang 0.5.14",
        after=r", in set_mamba_track_indices_from_reqs$",
    ),
    Failure(
        "GATE-018",
        r"^TypeError: 'NoneType' object is not subscriptable",
        "    buffer = req.mamba_ping_pong_track_buffer[0]\nTypeError: 'NoneType' object is not subscriptable",
        "extra_buffer was asked for a model that has no recurrent state",
        "leave the strategy to the plan",
        f"{SETTINGS}.mamba_scheduler_strategy",
        "sgl-project/sglang PR 39430",
        after=r"mamba_ping_pong_track_buffer",
    ),
    Failure(
        "GATE-019",
        r"^AssertionError: Mamba extra_buffer is only supported on CUDA devices with FLA backend",
        "AssertionError: Mamba extra_buffer is only supported on CUDA devices with FLA backend",
        "extra_buffer needs NVIDIA's CUDA and the FLA kernels",
        "set disable_radix_cache: true instead",
        f"{SETTINGS}.disable_radix_cache",
        "sgl-project/sglang PR 22908",
    ),
    # -- command line ----------------------------------------------------------------------------------------------------------
    Failure(
        "GATE-020",
        r"^(?:sglang serve|launch_server\.py|sglang): error: unrecognized arguments: (?P<flags>.+)$",
        "sglang serve: error: unrecognized arguments: --mtp-enable",
        "this release of SGLang does not know: {flags}",
        "remove or rename it (0.5.20 and later call --mamba-scheduler-strategy --mamba-radix-cache-strategy)",
        "sglang_server_extra_args, sglang_server_settings",
        "argparse; " + GPU,
    ),
    Failure(
        "GATE-021",
        r"^(?:sglang serve|launch_server\.py|sglang): error: (?P<error>.+)$",
        "sglang serve: error: argument --port: invalid int value: 'x'",
        "SGLang's argument parser refused: {error}",
        "correct that argument",
        "sglang_server_settings, sglang_server_extra_args",
        "argparse",
    ),
    Failure(
        "GATE-022",
        r"User-specified context_length \((?P<asked>\d+)\) is greater than the derived context_length \((?P<derived>\d+)\)",
        "ValueError: User-specified context_length (300000) is greater than the derived context_length (262144).",
        "context_length {asked} is more than the model's {derived}",
        "lower context_length",
        f"{SETTINGS}.context_length",
        "SGLang 0.5.11 model_config.py:458",
    ),
    Failure(
        "GATE-023",
        r"^(?:ValueError|AssertionError): .*(?:tp_size must be divisible by number of nodes|served_model_name cannot contain a colon"
        r"|chunked_prefill_size must be divisible by page_size)",
        "ValueError: chunked_prefill_size must be divisible by page_size",
        "SGLang refuses this combination of settings",
        "correct the setting that the line names",
        SETTINGS,
        "SGLang 0.5.11 server_args.py",
    ),
    # -- model files -----------------------------------------------------------------------------------------------------------
    Failure(
        "GATE-030",
        r"^(?:OSError|huggingface_hub\.errors\.HFValidationError): Repo id must "
        r"(?:be in the form 'repo_name' or 'namespace/repo_name'|use alphanumeric chars[^:]*): '(?P<path>[^']*)'",
        "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/models/none'.",
        "there is no model directory {path}, so SGLang took the path for a repository's name",
        "correct the path, or publish the model there",
        "sglang_server_model_path",
        GPU,
    ),
    Failure(
        "GATE-031",
        r"^(?:OSError|EnvironmentError|FileNotFoundError): (?P<error>.*(?:does not appear to have a file named"
        r"|No such file or directory: ['\"]?\S*(?:config\.json|safetensors|tokenizer)).*)",
        "OSError: /models/x does not appear to have a file named config.json.",
        "a file of the model is missing, or the service user cannot read it (safetensors calls an unreadable file missing): {error}",
        "check the files and their permissions for the service user, then publish the model again",
        "model_shards_path, sglang_server_user",
        "measured on a CPU host, SGLang 0.5.11",
    ),
    Failure(
        "GATE-032",
        r"^(?:[\w.]+\.)?SafetensorError: (?P<error>.*)",
        "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
        "a shard of the model is damaged or cut short: {error}",
        "fetch the model again; its manifest names the bad file",
        "model_shards_revision",
        "safetensors; transformers issue reports",
    ),
    Failure(
        "GATE-033",
        r"^FileNotFoundError: No such file or directory(?:: .*)?$",
        "FileNotFoundError: No such file or directory",
        "a file is missing, or the service user cannot read it: safetensors says this of a shard without read permission",
        "make the model readable by the service user",
        "sglang_server_user, model_shards_path",
        "measured on a CPU host, SGLang 0.5.11",
    ),
    Failure(
        "GATE-034",
        r"The checkpoint you are trying to load has model type [`'\"]?(?P<type>[\w.-]+)[`'\"]? but Transformers does not recognize "
        r"this architecture",
        "ValueError: The checkpoint you are trying to load has model type `qwen3_5` but Transformers does not recognize this architecture.",
        "transformers in this environment does not know the model type {type}",
        "use the environment that belongs to the SGLang release",
        "ml_env_sglang_version",
        "transformers",
    ),
    Failure(
        "GATE-035",
        r"(?:requires you to execute the configuration file in that repo|the option [`']?trust_remote_code=True)",
        "ValueError: please pass the option `trust_remote_code=True`",
        "the model brings its own code",
        "set trust_remote_code: true if you trust it",
        f"{SETTINGS}.trust_remote_code",
        "transformers",
    ),
    Failure(
        "GATE-036",
        r"(?P<arch>\w+) has no SGLang implementation|No processor registered for architecture: (?P<arch2>.*)",
        "ValueError: Qwen3NextForCausalLM has no SGLang implementation and the Transformers implementation is not compatible.",
        "SGLang has no implementation for this architecture, or could not import it (look for 'Ignore import error' above)",
        "use a release that supports the model",
        "ml_env_sglang_version",
        "SGLang 0.5.11",
    ),
    Failure(
        "GATE-037",
        r"^RuntimeError: The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\) at non-singleton dimension",
        '  File "/opt/sglang/ml-env/lib/python3.12/site-packages/sglang/srt/layers/moe/fused_moe_triton/layer.py", line 500, in _load_w13\n'
        "RuntimeError: The size of tensor a (2048) must match the size of tensor b (4096) at non-singleton dimension 1",
        "the experts' weights have another size ({b}) than their quantisation says ({a}): mostly an MTP layer that was left unquantised "
        "and is not named among the exceptions",
        "turn speculation off, or take a checkpoint whose quantisation names its MTP layer",
        f"{SETTINGS}.speculative_algorithm",
        "sgl-project/sglang PR 36158",
        after=r", in _load_w13$",
    ),
)
