# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The options of SGLang 0.5.9.

Written by scripts/release-row --write.
"""

from __future__ import annotations

VERSION = "0.5.9"
OPTIONS = """
integer: context-length nccl-port max-running-requests max-queued-requests max-total-tokens chunked-prefill-size
     prefill-max-requests page-size pp-max-micro-batch-size pp-async-batch-depth random-seed dist-timeout base-gpu-id node-rank
     max-lora-rank max-loaded-loras speculative-num-steps speculative-eagle-topk speculative-num-draft-tokens
     ep-num-redundant-experts eplb-rebalance-layers-per-chunk expert-distribution-recorder-buffer-size moe-dense-tp-size
     max-mamba-cache-size hicache-size kt-cpuinfer kt-num-gpu-experts kt-max-deferred-experts-per-token cpu-offload-gb
     multi-item-scoring-delimiter cuda-graph-max-bs piecewise-cuda-graph-max-tokens triton-attention-split-tile-size
     disaggregation-decode-tp disaggregation-decode-dp remote-instance-weight-loader-seed-instance-service-port
json: extra-metric-labels preferred-sampling-params remote-instance-weight-loader-send-weights-group-ports mm-process-config
     limit-mm-data-per-request forward-hooks
number: mem-fraction-static prefill-delayer-token-usage-low-watermark soft-watchdog-timeout gc-warning-threshold-secs
switch: skip-tokenizer-init trust-remote-code is-embedding enable-multimodal grpc-mode skip-server-warmup
     checkpoint-engine-wait-weights-before-ready enable-fp32-lm-head quantize-and-serve enable-dynamic-chunking
     enable-priority-scheduling abort-on-priority-when-disabled schedule-low-priority-values-first disable-hybrid-swa-memory
     enable-prefill-delayer stream-output constrained-json-disable-any-whitespace sleep-on-idle log-requests show-time-cost
     enable-metrics enable-metrics-for-all-schedulers collect-tokens-histogram enable-request-time-stats-logging enable-trace
     export-metrics-to-file enable-cache-report enable-lora enable-lora-overlap-loading disable-flashinfer-autotune
     enable-multi-layer-eagle enable-flashinfer-allreduce-fusion enable-eplb enable-expert-distribution-metrics
     enable-hierarchical-cache disable-hicache-numa-detect enable-lmcache enable-double-sparsity disable-radix-cache
     disable-cuda-graph disable-cuda-graph-padding enable-profile-cuda-graph enable-cudagraph-gc enable-layerwise-nvtx-marker
     enable-nccl-nvls enable-symm-mem disable-flashinfer-cutlass-moe-fp4-allgather enable-tokenizer-batch-encode
     disable-tokenizer-batch-decode disable-outlines-disk-cache disable-custom-all-reduce enable-mscclpp enable-torch-symm-mem
     disable-overlap-schedule enable-mixed-chunk enable-dp-attention enable-dp-lm-head enable-two-batch-overlap
     enable-single-batch-overlap enable-torch-compile enable-torch-compile-debug-mode enable-piecewise-cuda-graph
     enable-nan-detection enable-p2p-check triton-attention-reduce-in-fp32 delete-ckpt-after-loading enable-memory-saver
     enable-weights-cpu-backup enable-draft-weights-cpu-backup allow-auto-truncate enable-custom-logit-processor
     flashinfer-mla-disable-ragged disable-shared-experts-fusion disable-chunked-prefix-cache disable-fast-image-processor
     keep-mm-feature-on-device enable-return-hidden-states enable-return-routed-experts enable-deterministic-inference
     enable-attn-tp-input-scattered enable-nsa-prefill-context-parallel enable-fused-qk-norm-rope
     enable-precise-embedding-interpolation enable-dynamic-batch-tokenizer disaggregation-decode-enable-offload-kvcache
     encoder-only language-only weight-loader-disable-mmap remote-instance-weight-loader-start-seed-via-transfer-engine
     enable-pdmux enable-broadcast-mm-inputs-process mm-enable-dp-encoder enable-prefix-mm-cache
text: tokenizer-path model-loader-extra-config revision fastapi-root-path warmups quantization-param-path modelopt-quant
     modelopt-checkpoint-restore-path modelopt-checkpoint-save-path modelopt-export-path rl-quant-profile device
     constrained-json-whitespace-pattern download-dir custom-sigquit-handler log-level-http crash-dump-folder kv-events-config
     export-metrics-to-file-dir api-key admin-api-key served-model-name chat-template hf-chat-template-name completion-template
     tool-server json-model-override-args speculative-draft-model-revision speculative-token-map
     speculative-draft-attention-backend ep-dispatch-algorithm expert-distribution-recorder-mode deepep-config mooncake-ib-device
     hicache-storage-backend-extra-config hierarchical-sparse-attention-extra-config kt-weight-path dllm-algorithm
     dllm-algorithm-config ds-channel-config-path torchao-config debug-tensor-dump-output-folder debug-tensor-dump-input-file
     debug-tensor-dump-inject disaggregation-ib-device remote-instance-weight-loader-seed-instance-ip pdmux-config-path config
     decrypted-config-file decrypted-draft-config-file
model-path text @model
tokenizer-mode text [auto|slow] =auto
tokenizer-worker-num integer =1
load-format text [auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|layered|flash_rl|remote|remote_instance|
    fastsafetensors|private] =auto
model-impl text =auto
host text =127.0.0.1
port integer =30000
dtype text [auto|half|float16|bfloat16|float|float32] =auto
quantization text [awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|
    petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|quark_int4fp8_moe]
kv-cache-dtype text [auto|fp8_e5m2|fp8_e4m3|bf16|bfloat16|fp4_e2m1] =auto
max-prefill-tokens integer =16384
schedule-policy text [lpm|random|fcfs|dfs-weight|lof|priority|routing-key] =fcfs
priority-scheduling-preemption-threshold integer =10
schedule-conservativeness number =1.0
hybrid-kvcache-ratio dead !
swa-full-tokens-ratio number =0.8
radix-eviction-policy text [lru|lfu] =lru
prefill-delayer-max-delay-passes integer =30
prefill-delayer-forward-passes-buckets number+
prefill-delayer-wait-seconds-buckets number+
tensor-parallel-size integer =1 @tp-size
attention-context-parallel-size integer =1 @attn-cp-size
moe-data-parallel-size integer =1 @moe-dp-size
pipeline-parallel-size integer =1 @pp-size
stream-interval integer =1
watchdog-timeout number =300
model-checksum text?
gpu-id-step integer =1
log-level text =info
log-requests-level integer [0|1|2|3] =2
log-requests-format text [text|json] =text
log-requests-target text+
uvicorn-access-log-exclude-prefixes text*
tokenizer-metrics-custom-labels-header text =x-custom-labels
tokenizer-metrics-allowed-custom-labels text+
bucket-time-to-first-token number+
bucket-inter-token-latency number+
bucket-e2e-request-latency number+
prompt-tokens-buckets text+
generation-tokens-buckets text+
decode-log-interval integer =40
otlp-traces-endpoint text =localhost:4317
weight-version text =default
file-storage-path text =sglang_storage
reasoning-parser text [deepseek-r1|deepseek-v3|glm45|gpt-oss|kimi|kimi_k2|qwen3|qwen3-thinking|minimax|minimax-append-think|step3|
    step3p5|nano_v3|interns1]
tool-call-parser text [deepseekv3|deepseekv31|deepseekv32|glm|glm45|glm47|gpt-oss|kimi_k2|lfm2|llama3|mimo|mistral|pythonic|qwen|
    qwen25|qwen3_coder|step3|step3p5|minimax-m2|trinity|interns1|hermes|gigachat3]
sampling-defaults text [openai|model] =model
data-parallel-size integer =1 @dp-size
load-balance-method text [auto|round_robin|follow_bootstrap_room|total_requests|total_tokens] =auto
prefill-round-robin-balance dead !
dist-init-addr text @nccl-init-addr
nnodes integer =1
lora-target-modules text* [q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj|qkv_proj|gate_up_proj|embed_tokens|lm_head|all]
lora-paths text*
max-loras-per-batch integer =8
lora-eviction-policy text [lru|fifo] =lru
lora-backend text [triton|csgmv|ascend|torch_native] =csgmv
max-lora-chunk-size integer [16|32|64|128] =16
attention-backend text [triton|torch_native|flex_attention|nsa|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|trtllm_mha|
    dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu]
prefill-attention-backend text [triton|torch_native|flex_attention|nsa|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|
    trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu]
decode-attention-backend text [triton|torch_native|flex_attention|nsa|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|
    trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu]
sampling-backend text [ascend|flashinfer|pytorch]
grammar-backend text [xgrammar|outlines|llguidance|none]
mm-attention-backend text [sdpa|fa3|fa4|triton_attn|ascend_attn|aiter_attn]
nsa-prefill-backend text [flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm]
nsa-decode-backend text [flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm]
fp8-gemm-backend text [auto|deep_gemm|flashinfer_trtllm|flashinfer_deepgemm|cutlass|triton|aiter] =auto !
fp4-gemm-backend text [auto|flashinfer_cudnn|flashinfer_cutlass|flashinfer_trtllm] =flashinfer_cutlass !
speculative-algorithm text [EAGLE|EAGLE3|NEXTN|STANDALONE|NGRAM]
speculative-draft-model-path text @speculative-draft-model
speculative-draft-load-format text [auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|layered|flash_rl|remote|
    remote_instance|fastsafetensors|private]
speculative-accept-threshold-single number =1.0
speculative-accept-threshold-acc number =1.0
speculative-attention-mode text [prefill|decode] =prefill
speculative-moe-runner-backend text [auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_cutlass|flashinfer_mxfp4|
    flashinfer_cutedsl|cutlass]
speculative-moe-a2a-backend text [none|deepep|mooncake|mori|ascend_fuseep|flashinfer]
speculative-draft-model-quantization text [awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|
    modelopt_fp8|modelopt_fp4|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|
    quark_int4fp8_moe|unquant]
speculative-ngram-min-match-window-size integer =1
speculative-ngram-max-match-window-size integer =12
speculative-ngram-min-bfs-breadth integer =1
speculative-ngram-max-bfs-breadth integer =10
speculative-ngram-match-type text [BFS|PROB] =BFS
speculative-ngram-branch-length integer =18
speculative-ngram-capacity integer =10000000
expert-parallel-size integer =1 @ep-size,ep
moe-a2a-backend text [none|deepep|mooncake|mori|ascend_fuseep|flashinfer] =none
moe-runner-backend text [auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_cutlass|flashinfer_mxfp4|
    flashinfer_cutedsl|cutlass] =auto
flashinfer-mxfp4-moe-precision text [default|bf16] =default
deepep-mode text [normal|low_latency|auto] =auto
init-expert-location text =trivial
eplb-algorithm text =auto
eplb-rebalance-num-iterations integer =1000
eplb-min-rebalancing-utilization-threshold number =1.0
elastic-ep-backend text [none|mooncake]
mamba-ssm-dtype text [float32|bfloat16|float16]
mamba-full-memory-ratio number =0.9
mamba-scheduler-strategy text [auto|no_buffer|extra_buffer] =auto
mamba-track-interval integer =256
mamba-backend text [triton|flashinfer] =triton
hicache-ratio number =2.0
hicache-write-policy text [write_back|write_through|write_through_selective] =write_through
hicache-io-backend text [direct|kernel|kernel_ascend] =kernel
hicache-mem-layout text [layer_first|page_first|page_first_direct|page_first_kv_split|page_head] =layer_first
hicache-storage-backend text [file|mooncake|hf3fs|nixl|aibrix|dynamic|eic]
hicache-storage-prefetch-policy text [best_effort|wait_complete|timeout] =best_effort
kt-method text =AMXINT4
kt-threadpool-count integer =2
ds-heavy-channel-num integer =32
ds-heavy-token-num integer =256
ds-heavy-channel-type text =qk
ds-sparse-decode-threshold integer =4096
offload-group-size integer =-1
offload-num-in-group integer =1
offload-prefetch-step integer =1
offload-mode text =cpu
cuda-graph-bs integer+
tbo-token-distribution-threshold number =0.48
piecewise-cuda-graph-tokens integer+
piecewise-cuda-graph-compiler text [eager|inductor] =eager
torch-compile-max-bs integer =32
triton-attention-num-kv-splits integer =8
num-continuous-decode-steps integer =1
scheduler-recv-interval integer =1
numa-node integer+
rl-on-policy-target text [fsdp]
nsa-prefill-cp-mode text [in-seq-split|round-robin-split] =round-robin-split
dynamic-batch-tokenizer-batch-size integer =32
dynamic-batch-tokenizer-batch-timeout number =0.002
debug-tensor-dump-layers integer+
disaggregation-mode text [null|prefill|decode] =null
disaggregation-transfer-backend text [mooncake|nixl|ascend|fake|mori] =mooncake
disaggregation-bootstrap-port integer =8998
disaggregation-prefill-pp integer =1
num-reserved-decode-tokens integer =512
disaggregation-decode-polling-interval integer =1
encoder-transfer-backend text [zmq_to_scheduler|zmq_to_tokenizer|mooncake] =zmq_to_scheduler
encoder-urls text+
custom-weight-loader text*
remote-instance-weight-loader-backend text [transfer_engine|nccl] =nccl
sm-group-num integer =8
mm-max-concurrent-calls integer =32
mm-per-request-timeout integer =10.0
"""
