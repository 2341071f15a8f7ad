# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Option names of SGLang 0.5.11, recorded from its own parser. Written by tests/support/options/make_options.py."""

from __future__ import annotations

# kind -> names without dashes; one value each, any value
PLAIN = {
    "dead": """
hybrid-kvcache-ratio collect-tokens-histogram prefill-round-robin-balance enable-piecewise-cuda-graph
""",
    "integer": """
tokenizer-worker-num port nccl-port max-running-requests max-queued-requests chunked-prefill-size prefill-max-requests
default-priority-value priority-scheduling-preemption-threshold page-size prefill-delayer-max-delay-passes tensor-parallel-size
attention-context-parallel-size moe-data-parallel-size pipeline-parallel-size pp-max-micro-batch-size pp-async-batch-depth
stream-interval batch-notify-size random-seed dist-timeout base-gpu-id gpu-id-step grpc-http-sidecar-port decode-log-interval
data-parallel-size nnodes node-rank max-lora-rank max-loras-per-batch max-loaded-loras speculative-num-steps
speculative-eagle-topk speculative-num-draft-tokens speculative-dflash-block-size speculative-dflash-draft-window-size
speculative-ngram-min-bfs-breadth speculative-ngram-max-bfs-breadth speculative-ngram-max-trie-depth speculative-ngram-capacity
speculative-ngram-external-sam-budget speculative-ngram-external-corpus-max-tokens expert-parallel-size ep-num-redundant-experts
eplb-rebalance-num-iterations eplb-rebalance-layers-per-chunk expert-distribution-recorder-buffer-size moe-dense-tp-size
max-mamba-cache-size mamba-track-interval hicache-size kt-cpuinfer kt-threadpool-count kt-num-gpu-experts
kt-max-deferred-experts-per-token cpu-offload-gb offload-group-size offload-num-in-group offload-prefetch-step cuda-graph-max-bs
torch-compile-max-bs piecewise-cuda-graph-max-tokens triton-attention-num-kv-splits triton-attention-split-tile-size
num-continuous-decode-steps scheduler-recv-interval dynamic-batch-tokenizer-batch-size disaggregation-bootstrap-port
num-reserved-decode-tokens disaggregation-decode-polling-interval weight-loader-prefetch-num-threads
remote-instance-weight-loader-seed-instance-service-port engine-info-bootstrap-port sm-group-num
""",
    "json": """
extra-metric-labels preferred-sampling-params remote-instance-weight-loader-send-weights-group-ports mm-process-config
limit-mm-data-per-request forward-hooks
""",
    "number": """
mem-fraction-static schedule-conservativeness swa-full-tokens-ratio prefill-delayer-token-usage-low-watermark watchdog-timeout
soft-watchdog-timeout gc-warning-threshold-secs speculative-accept-threshold-single speculative-accept-threshold-acc
eplb-min-rebalancing-utilization-threshold mamba-full-memory-ratio hicache-ratio tbo-token-distribution-threshold
dynamic-batch-tokenizer-batch-timeout
""",
    "size": """
context-length max-total-tokens max-prefill-tokens
""",
    "switch": """
skip-tokenizer-init trust-remote-code is-embedding enable-multimodal grpc-mode skip-server-warmup
checkpoint-engine-wait-weights-before-ready enable-ssl-refresh enable-http2 enable-fp32-lm-head quantize-and-serve
enable-dynamic-chunking enable-priority-scheduling disable-priority-preemption abort-on-priority-when-disabled
schedule-low-priority-values-first disable-hybrid-swa-memory enable-prefill-delayer incremental-streaming-output
stream-response-default-include-usage stream-output enable-streaming-session constrained-json-disable-any-whitespace sleep-on-idle
use-ray log-requests show-time-cost enable-metrics enable-mfu-metrics enable-metrics-for-all-schedulers
enable-request-time-stats-logging enable-trace export-metrics-to-file enable-cache-report strip-thinking-cache enable-lora
enable-lora-overlap-loading lora-use-virtual-experts disable-flashinfer-autotune speculative-adaptive speculative-skip-dp-mlp-sync
enable-multi-layer-eagle enable-flashinfer-allreduce-fusion enforce-disable-flashinfer-allreduce-fusion
enable-aiter-allreduce-fusion enable-eplb enable-expert-distribution-metrics enable-elastic-expert-backup elastic-ep-rejoin
enable-hierarchical-cache enable-hisparse enable-lmcache enable-mis disable-radix-cache disable-cuda-graph
disable-cuda-graph-padding enable-breakable-cuda-graph enable-profile-cuda-graph enable-cudagraph-gc debug-cuda-graph
enable-layerwise-nvtx-marker enable-nccl-nvls enable-symm-mem disable-flashinfer-cutlass-moe-fp4-allgather
enable-tokenizer-batch-encode disable-tokenizer-batch-decode disable-outlines-disk-cache disable-custom-all-reduce enable-mscclpp
enable-torch-symm-mem pre-warm-nccl disable-overlap-schedule enable-mixed-chunk enable-dp-attention
enable-dp-attention-local-control-broadcast enable-dp-lm-head enable-two-batch-overlap enable-single-batch-overlap
enable-torch-compile enable-torch-compile-debug-mode disable-piecewise-cuda-graph enforce-piecewise-cuda-graph
enable-nan-detection enable-p2p-check triton-attention-reduce-in-fp32 delete-ckpt-after-loading enable-memory-saver
enable-weights-cpu-backup enable-draft-weights-cpu-backup allow-auto-truncate enable-custom-logit-processor
flashinfer-mla-disable-ragged disable-shared-experts-fusion enforce-shared-experts-fusion disable-chunked-prefix-cache
disable-fast-image-processor keep-mm-feature-on-device enable-return-hidden-states enable-return-routed-experts
enable-deterministic-inference enable-attn-tp-input-scattered enable-nsa-prefill-context-parallel enable-prefill-context-parallel
enable-fused-qk-norm-rope enable-precise-embedding-interpolation enable-fused-moe-sum-all-reduce enable-dynamic-batch-tokenizer
disaggregation-decode-enable-radix-cache disaggregation-decode-enable-offload-kvcache encoder-only language-only
enable-adaptive-dispatch-to-encoder weight-loader-disable-mmap weight-loader-prefetch-checkpoints
remote-instance-weight-loader-start-seed-via-transfer-engine enable-pdmux enable-broadcast-mm-inputs-process mm-enable-dp-encoder
enable-prefix-mm-cache enable-mm-global-cache enable-quant-communications
""",
    "text": """
model-path tokenizer-path model-loader-extra-config revision model-impl host fastapi-root-path warmups ssl-keyfile ssl-certfile
ssl-ca-certs ssl-keyfile-password quantization-param-path modelopt-quant modelopt-checkpoint-restore-path
modelopt-checkpoint-save-path modelopt-export-path rl-quant-profile device constrained-json-whitespace-pattern download-dir
custom-sigquit-handler log-level log-level-http crash-dump-folder tokenizer-metrics-custom-labels-header kv-events-config
otlp-traces-endpoint export-metrics-to-file-dir api-key admin-api-key served-model-name weight-version chat-template
hf-chat-template-name completion-template file-storage-path tool-server dist-init-addr json-model-override-args
speculative-draft-model-path speculative-draft-model-revision speculative-token-map speculative-draft-attention-backend
speculative-ngram-external-corpus-path speculative-adaptive-config ep-dispatch-algorithm init-expert-location eplb-algorithm
expert-distribution-recorder-mode deepep-config mooncake-ib-device hicache-storage-backend-extra-config hisparse-config
kt-weight-path kt-method dllm-algorithm dllm-algorithm-config offload-mode torchao-config debug-tensor-dump-output-folder
debug-tensor-dump-input-file debug-tensor-dump-inject disaggregation-ib-device remote-instance-weight-loader-seed-instance-ip
modelexpress-config pdmux-config-path config decrypted-config-file decrypted-draft-config-file msprobe-dump-config
""",
    "toggle": """
experts-shared-outer-loras lora-strict-loading record-nolora-graph
""",
}
# name kind values choices
DETAILED = """
tokenizer-mode text 1 auto|slow
tokenizer-backend text 1 huggingface|fastokens
load-format text 1 auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|mistral|layered|flash_rl|remote|
    remote_instance|fastsafetensors|private|runai_streamer
dtype text 1 auto|half|float16|bfloat16|float|float32
quantization text 1 awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|
    modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|
    quark_int4fp8_moe|unquant
kv-cache-dtype text 1 auto|fp8_e5m2|fp8_e4m3|bf16|bfloat16|fp4_e2m1
schedule-policy text 1 lpm|random|fcfs|dfs-weight|lof|priority|routing-key
radix-eviction-policy text 1 lru|lfu|slru|priority
prefill-delayer-forward-passes-buckets number +
prefill-delayer-wait-seconds-buckets number +
model-checksum text ?
log-requests-level integer 1 0|1|2|3
log-requests-format text 1 text|json
log-requests-target text +
uvicorn-access-log-exclude-prefixes text *
tokenizer-metrics-allowed-custom-labels text +
bucket-time-to-first-token number +
bucket-inter-token-latency number +
bucket-e2e-request-latency number +
prompt-tokens-buckets text +
generation-tokens-buckets text +
reasoning-parser text 1 deepseek-r1|deepseek-v3|glm45|hunyuan|gpt-oss|kimi|kimi_k2|mimo|qwen3|qwen3-thinking|minimax|
    minimax-append-think|step3|step3p5|mistral|nemotron_3|interns1|gemma4
tool-call-parser text 1 deepseekv3|deepseekv31|deepseekv32|glm|glm45|glm47|gpt-oss|kimi_k2|lfm2|llama3|mimo|mistral|pythonic|qwen|
    qwen25|qwen3_coder|step3|step3p5|minimax-m2|trinity|interns1|hermes|hunyuan|gigachat3|gemma4
sampling-defaults text 1 openai|model
load-balance-method text 1 auto|round_robin|follow_bootstrap_room|total_requests|total_tokens
lora-target-modules text * q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj|qkv_proj|gate_up_proj|embed_tokens|lm_head|all
lora-paths text *
lora-eviction-policy text 1 lru|fifo
lora-backend text 1 triton|csgmv|ascend|torch_native
max-lora-chunk-size integer 1 16|32|64|128
attention-backend text 1 triton|torch_native|flex_attention|nsa|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|trtllm_mha|
    dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
prefill-attention-backend text 1 triton|torch_native|flex_attention|nsa|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|
    trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
decode-attention-backend text 1 triton|torch_native|flex_attention|nsa|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|
    trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
sampling-backend text 1 pytorch|flashinfer|ascend
grammar-backend text 1 xgrammar|outlines|llguidance|none
mm-attention-backend text 1 sdpa|fa3|fa4|triton_attn|ascend_attn|aiter_attn|flashinfer_cudnn
nsa-prefill-backend text 1 flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm
nsa-decode-backend text 1 flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm
fp8-gemm-backend text 1 auto|deep_gemm|flashinfer_trtllm|flashinfer_cutlass|flashinfer_deepgemm|cutlass|triton|aiter
fp4-gemm-backend text 1 auto|cutlass|flashinfer_cudnn|flashinfer_cutlass|flashinfer_trtllm
speculative-algorithm text 1 DFLASH|EAGLE|EAGLE3|NEXTN|STANDALONE|NGRAM
speculative-draft-load-format text 1 auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|mistral|layered|flash_rl|
    remote|remote_instance|fastsafetensors|private|runai_streamer
speculative-attention-mode text 1 prefill|decode
speculative-moe-runner-backend text 1 auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_trtllm_routed|
    flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass|aiter
speculative-moe-a2a-backend text 1 none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer
speculative-draft-model-quantization text 1 awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|
    modelopt_fp8|modelopt_fp4|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|
    compressed-tensors|modelslim|quark_int4fp8_moe|unquant
speculative-ngram-match-type text 1 BFS|PROB
moe-a2a-backend text 1 none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer
moe-runner-backend text 1 auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|
    flashinfer_mxfp4|flashinfer_cutedsl|cutlass|aiter
flashinfer-mxfp4-moe-precision text 1 default|bf16
deepep-mode text 1 normal|low_latency|auto
elastic-ep-backend text 1 none|mooncake|nixl
mamba-ssm-dtype text 1 float32|bfloat16|float16
mamba-scheduler-strategy text 1 auto|no_buffer|extra_buffer
mamba-backend text 1 triton|flashinfer
linear-attn-backend text 1 triton|cutedsl|flashinfer
linear-attn-decode-backend text 1 triton|cutedsl|flashinfer
linear-attn-prefill-backend text 1 triton|cutedsl|flashinfer
hicache-write-policy text 1 write_back|write_through|write_through_selective
hicache-io-backend text 1 direct|kernel|kernel_ascend
hicache-mem-layout text 1 layer_first|page_first|page_first_direct|page_first_kv_split|page_head
hicache-storage-backend text 1 file|mooncake|hf3fs|nixl|aibrix|dynamic|eic|simm
hicache-storage-prefetch-policy text 1 best_effort|wait_complete|timeout
cuda-graph-bs integer +
piecewise-cuda-graph-tokens integer +
piecewise-cuda-graph-compiler text 1 eager|inductor
numa-node integer +
rl-on-policy-target text 1 fsdp
nsa-prefill-cp-mode text 1 in-seq-split|round-robin-split
prefill-cp-mode text 1 in-seq-split
gc-threshold integer +
debug-tensor-dump-layers integer +
disaggregation-mode text 1 null|prefill|decode
disaggregation-transfer-backend text 1 mooncake|nixl|ascend|fake|mori
encoder-transfer-backend text 1 zmq_to_scheduler|zmq_to_tokenizer|mooncake
encoder-urls text +
custom-weight-loader text *
remote-instance-weight-loader-backend text 1 transfer_engine|nccl|modelexpress
"""
# other spelling=name, and name>dest where the two differ
ALIASES = """
model=model-path tp-size=tensor-parallel-size attn-cp-size=attention-context-parallel-size moe-dp-size=moe-data-parallel-size
pp-size=pipeline-parallel-size stream-output>incremental_streaming_output dp-size=data-parallel-size nccl-init-addr=dist-init-addr
fp8-gemm-backend>fp8_gemm_runner_backend fp4-gemm-backend>fp4_gemm_runner_backend
speculative-draft-model=speculative-draft-model-path ep-size=expert-parallel-size ep=expert-parallel-size
"""
DEPRECATED = """
hybrid-kvcache-ratio stream-output collect-tokens-histogram prefill-round-robin-balance enable-piecewise-cuda-graph
enable-nan-detection
"""
