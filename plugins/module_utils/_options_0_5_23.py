# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Option names of SGLang 0.5.23, recorded from its own parser. Written by tests/support/options/make_options.py."""

from __future__ import annotations

# kind -> names without dashes; one value each, any value
PLAIN = {
    "integer": """
tokenizer-worker-num detokenizer-worker-num max-running-requests max-queued-requests chunked-prefill-size prefill-decode-interval
prefill-max-requests default-priority-value priority-scheduling-preemption-threshold page-size c128-page-size
num-continuous-decode-steps scheduler-recv-interval nccl-port dist-timeout gated-launch-port nnodes node-rank tp-size dcp-size
pp-size pp-max-micro-batch-size pp-async-batch-depth dp-size attn-dp-size attn-cp-size moe-dp-size dwdp-size
shared-experts-tp-size base-gpu-id gpu-id-step random-seed port grpc-port http2-max-concurrent-streams
http2-initial-connection-window-size asr-max-buffer-seconds asr-max-concurrent-sessions stream-interval batch-notify-size
smg-http-sidecar-port load-snapshot-publish-interval decode-log-interval constrained-json-max-whitespace-cnt
cuda-graph-max-bs-decode cuda-graph-max-bs-prefill triton-attention-num-kv-splits triton-attention-split-tile-size
torch-compile-max-bs speculative-num-steps speculative-eagle-topk speculative-num-draft-tokens speculative-dflash-block-size
speculative-dspark-block-size speculative-draft-window-size decoupled-spec-rank speculative-ngram-min-bfs-breadth
speculative-ngram-max-bfs-breadth speculative-ngram-max-trie-depth speculative-ngram-capacity
speculative-ngram-external-sam-budget speculative-ngram-external-corpus-max-tokens ep-size ep-num-redundant-experts
eplb-rebalance-num-iterations eplb-rebalance-layers-per-chunk expert-distribution-recorder-buffer-size moe-dense-tp-size
elastic-ep-join-rank-offset elastic-ep-initial-size max-ep-size max-mamba-cache-size mamba-max-states-per-path
mamba-cache-philox-rounds mamba-track-interval int8-mamba-ckpt-size linear-replayssm-cache-len hicache-size
hicache-storage-prefetch-retry-poll-interval hicache-storage-prefetch-retry-max-attempts mm-processor-worker-num mm-io-worker-num
media-url-max-file-size-mb mm-preprocess-cache-size-mb max-lora-rank max-loaded-loras max-loras-per-batch cpu-offload-gb
offload-group-size offload-num-in-group offload-prefetch-step kt-cpuinfer kt-threadpool-count kt-num-gpu-experts
kt-max-deferred-experts-per-token disaggregation-bootstrap-port num-reserved-decode-tokens disaggregation-decode-extra-slots
disaggregation-decode-polling-interval optimistic-prefill-attempts encoder-bootstrap-port sm-group-num
weight-loader-prefetch-num-threads remote-instance-weight-loader-seed-instance-service-port engine-info-bootstrap-port
prefill-delayer-max-delay-passes min-free-slots-delay kv-canary-sweep-interval dynamic-batch-tokenizer-batch-size
sampling-mask-max-tokens weight-cache-timeout speculative-domino-candidate-pool-size cuda-graph-max-seq-len-prefill
swa-prefix-tails speculative-draft-sink-size grpc-response-timeout-secs paged-experts-num-resident prefill-decode-interval-min-bs
""",
    "json": """
radix-eviction-policy-config sidecar-args default-chat-template-kwargs preferred-sampling-params extra-metric-labels
cuda-graph-config decoupled-spec-connect-endpoints mm-process-config limit-mm-data-per-request
remote-instance-weight-loader-send-weights-group-ports forward-hooks unified-cache-external-linker-config
""",
    "number": """
mem-fraction-static schedule-conservativeness swa-full-tokens-ratio watchdog-timeout soft-watchdog-timeout
gc-warning-threshold-secs speculative-accept-threshold-single speculative-accept-threshold-acc
eplb-min-rebalancing-utilization-threshold elastic-ep-scale-timeout mamba-full-memory-ratio hicache-ratio
lora-drain-wait-threshold tbo-token-distribution-threshold prefill-delayer-token-usage-low-watermark
prefill-delayer-queue-min-ratio prefill-delayer-max-delay-ms dynamic-batch-tokenizer-batch-timeout hicache-host-memory-fraction
disaggregation-decode-host-receive-threshold
""",
    "size": """
context-length max-total-tokens max-prefill-tokens cuda-graph-prefill-max-context
""",
    "switch": """
skip-tokenizer-init trust-remote-code is-embedding enable-multimodal enable-fp32-lm-head quantize-and-serve
enable-dynamic-chunking enable-priority-scheduling disable-priority-preemption abort-on-priority-when-disabled
schedule-low-priority-values-first disable-hybrid-swa-memory prefill-only-disable-kv-cache disable-radix-cache
enable-page-major-kv-layout enable-unified-memory disable-chunked-prefix-cache disable-overlap-schedule enable-mixed-chunk
enable-prefill-cp enable-dsa-cache-layer-split enable-cp-decode-attn-tp enable-kv-cache-sharding
enable-dp-attention-local-control-broadcast enable-dp-lm-head enable-attn-tp-input-scattered enable-shared-experts-attn-tp
enable-dense-mlp-attn-tp enable-layernorm-sp disable-attn-tp-gather enable-p2p-check mlx-enable-sampling sleep-on-idle use-ray
smg-grpc-mode grpc-mode skip-server-warmup enable-http2 enable-ssl-refresh trust-request-chat-template enable-cache-report
return-input-ids return-output-ids strip-thinking-cache enable-strict-thinking allow-auto-truncate
stream-response-default-include-usage incremental-streaming-output enable-streaming-session enable-session-radix-cache
log-requests show-time-cost enable-metrics enable-mfu-metrics enable-metrics-for-all-schedulers enable-request-time-stats-logging
enable-forward-pass-metrics enable-trace export-metrics-to-file constrained-json-disable-any-whitespace enable-lean-attention
disable-flashinfer-autotune disable-prefill-cuda-graph disable-decode-cuda-graph disable-cuda-graph-padding
enable-profile-cuda-graph enable-cudagraph-gc debug-cuda-graph enable-layerwise-nvtx-marker enable-nccl-nvls enable-symm-mem
triton-attention-reduce-in-fp32 flashinfer-mla-disable-ragged enable-precise-embedding-interpolation
enable-fused-moe-sum-all-reduce enable-deepseek-v4-fp4-indexer disable-custom-all-reduce enable-mscclpp enable-torch-symm-mem
enable-scattered-sconv pre-warm-nccl enable-quant-communications enforce-disable-flashinfer-allreduce-fusion
enable-aiter-allreduce-fusion enable-torch-compile enable-torch-compile-debug-mode
speculative-dspark-align-verify-tokens-to-graph-tier speculative-use-rejection-sampling enable-multi-layer-eagle
speculative-adaptive enable-w4a4-mxfp4-megamoe enable-eplb enable-elastic-expert-backup enable-waterfill
disable-flashinfer-cutlass-moe-fp4-allgather disable-shared-experts-fusion enforce-shared-experts-fusion
enable-mamba-cache-stochastic-rounding enable-int8-mamba-checkpoint enable-linear-replayssm enable-linear-replayssm-spec
enable-hierarchical-cache enable-unified-cache-external-linker enable-hisparse enable-broadcast-mm-inputs-process
enable-prefix-mm-cache trust-mm-content-hashes enable-mm-global-cache disable-fast-image-processor enable-lora
enable-lora-overlap-loading lora-use-virtual-experts enable-two-batch-overlap enable-single-batch-overlap enable-lmcache
enable-flexkv disaggregation-decode-enable-radix-cache disaggregation-decode-enable-offload-kvcache encoder-only language-only
language-model-only enable-adaptive-dispatch-to-encoder enable-pdmux weight-loader-disable-mmap weight-loader-prefetch-checkpoints
weight-loader-drop-cache-after-load remote-instance-weight-loader-start-seed-via-transfer-engine delete-ckpt-after-loading
checkpoint-engine-wait-weights-before-ready enable-prefill-delayer enable-deterministic-inference enable-dynamic-batch-tokenizer
enable-tokenizer-batch-encode disable-tokenizer-batch-decode enable-memory-saver enable-weights-cpu-backup
enable-draft-weights-cpu-backup enable-custom-logit-processor enable-return-hidden-states enable-return-routed-experts
enable-return-indexer-topk disable-outlines-disk-cache enable-mis disaggregation-enable-kv-checksum enable-pd-role-switch
enable-linker-mla-dedup enable-encoder-swa-bounded-replay enable-response-store speculative-use-block-verification
disable-aiter-allreduce-fusion-in-prefill disable-aiter-allreduce-fusion-in-decode enable-amd-monokernel enable-watermark
enable-paged-experts enable-nvidia-megakernel enable-megamoe-for-layernorm-sp enable-http-worker-reuseport
enable-return-aux-hidden-states disable-cuda-graph enable-dp-attention enable-flashinfer-allreduce-fusion
""",
    "text": """
model-path tokenizer-path model-loader-extra-config revision model-impl model-config-parser json-model-override-args
quantization-param-path modelopt-quant modelopt-checkpoint-restore-path modelopt-checkpoint-save-path modelopt-export-path
rl-quant-profile dist-init-addr device host fastapi-root-path sidecar warmups ssl-keyfile ssl-certfile ssl-ca-certs
ssl-keyfile-password api-key admin-api-key served-model-name weight-version chat-template hf-chat-template-name
completion-template file-storage-path tool-server log-level log-level-http crash-dump-folder
tokenizer-metrics-custom-labels-header kv-events-config load-publish-endpoint forward-pass-metrics-worker-id
forward-pass-metrics-ipc-name trace-modules otlp-traces-endpoint export-metrics-to-file-dir constrained-json-whitespace-pattern
radix-cache-backend speculative-algorithm uno-lora-path speculative-draft-model-path speculative-draft-model-revision
speculative-dspark-sps-table-path speculative-dspark-confidence-sts-path speculative-token-map speculative-draft-attention-backend
speculative-adaptive-config decoupled-spec-bind-endpoint spec-trace-dir speculative-ngram-external-corpus-path
init-expert-location eplb-algorithm deepep-config mooncake-ib-device hicache-storage-backend-extra-config hisparse-config
offload-mode lmcache-config-file flexkv-config-file kt-weight-path kt-method dllm-algorithm dllm-algorithm-config
disaggregation-ib-device pdmux-config-path remote-instance-weight-loader-seed-instance-ip modelexpress-config download-dir
decrypted-config-file decrypted-draft-config-file debug-tensor-dump-output-folder debug-tensor-dump-input-file weight-cache-socket
msprobe-dump-config ple-offload-dir otlp-service-name watermark-config config
""",
    "toggle": """
enable-tf32-matmul dcp-replicate-q-proj enable-tp-lm-head-all-to-all enable-fused-qk-norm-rope
speculative-enable-w4a4-mxfp4-megamoe mm-enable-dp-encoder experts-shared-outer-loras lora-strict-loading dllm-fdfo
ple-offload-embedding enable-decoder-swa-bounded-replay enable-dsa-fused-indexer
""",
}
# name kind values choices
DETAILED = """
tokenizer-mode text 1 auto|slow
tokenizer-backend text 1 huggingface|fastokens
load-format text 1 auto|pt|safetensors|instanttensor|npcache|dummy|sharded_state|presharded|gguf|expert_pack|bitsandbytes|mistral|
    layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer
dtype text 1 auto|half|float16|bfloat16|float|float32
quantization text 1 awq|fp8|mxfp8|gptq|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|nvfp4_online|
    modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|w4afp8|mxfp4|auto-round|auto-round-int8|compressed-tensors|modelslim|
    mxfp_w4a8|quark|quark_int4fp8_moe|quark_mxfp4|mlx_q4|mlx_q8|unquant|humming
kv-cache-dtype text 1 auto|fp8_e5m2|fp8_e4m3|mxfp8|bf16|bfloat16|nvfp4|fp4_mx_block16
schedule-policy text 1 lpm|random|fcfs|dfs-weight|lof|priority|routing-key|hrrn|shortest-prefill-first
retraction-policy text 1 length|priority
radix-eviction-policy text 1 lru|lfu|slru|priority|tlru
load-balance-method text 1 auto|round_robin|follow_bootstrap_room|total_requests|total_tokens
dcp-comm-backend text 1 ag_rs|a2a|fi_a2a
cp-strategy text 1 zigzag|interleave
numa-node integer +
gc-threshold integer +
sampling-defaults text 1 openai|model
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
attention-backend text 1 triton|torch_native|flex_attention|dsa|nsa|qsa|dsv4|compressed|fa3|fa4|flashinfer|llada2_cfg_flashinfer|
    flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|hpc_ops|minicpm_flashattn|minicpm_flashinfer|aiter|wave|intel_amx|
    ascend|intel_xpu
decode-attention-backend text 1 triton|torch_native|flex_attention|dsa|nsa|qsa|dsv4|compressed|fa3|fa4|flashinfer|
    llada2_cfg_flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|hpc_ops|minicpm_flashattn|minicpm_flashinfer|
    aiter|wave|intel_amx|ascend|intel_xpu
prefill-attention-backend text 1 triton|torch_native|flex_attention|dsa|nsa|qsa|dsv4|compressed|fa3|fa4|flashinfer|
    llada2_cfg_flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|hpc_ops|minicpm_flashattn|minicpm_flashinfer|
    aiter|wave|intel_amx|ascend|intel_xpu
grammar-backend text 1 xgrammar|outlines|llguidance|none
mm-attention-backend text 1 sdpa|fa3|fa4|triton_attn|ascend_attn|aiter_attn|flashinfer_cudnn|amx_attn|xpu_attn
fp8-gemm-backend text 1 auto|deep_gemm|flashinfer_trtllm|flashinfer_cutlass|flashinfer_deepgemm|flashinfer_cutedsl|cutlass|triton|
    aiter
fp4-gemm-backend text 1 auto|flashinfer_cudnn|flashinfer_cutedsl|flashinfer_cutlass|flashinfer_trtllm|marlin
bf16-gemm-backend text 1 auto|cutedsl|gemv|torch
dsa-prefill-backend text 1 flashmla_sparse|flashmla_sparse_q8|flashmla_kv|flashmla_auto|flashinfer_sparse_mla|triton_sparse_mla|
    fa3|tilelang|triton|aiter|trtllm|intel_xpu
dsv4-prefill-backend text 1 auto|flashmla_sparse|flashmla_sparse_q8
dsa-decode-backend text 1 flashmla_sparse|flashmla_sparse_q8|flashmla_kv|flashmla_auto|flashinfer_sparse_mla|fa3|tilelang|triton|
    aiter|trtllm|intel_xpu
dsa-paged-mqa-logits-backend text 1 auto|deepgemm|cutedsl|aiter
dsa-topk-backend text 1 sgl-kernel|torch|flashinfer
flashinfer-autotune-skip-ops text +
mamba-backend text 1 triton|flashinfer
cuda-graph-backend-decode text 1 full|breakable|disabled
cuda-graph-backend-prefill text 1 full|breakable|disabled
cuda-graph-bs-decode integer +
cuda-graph-bs-prefill integer +
boundary-reduction text 1 auto|ar|rs|rsv|rs+rsv
flashinfer-allreduce-fusion-backend text 1 auto|trtllm|mnnvl|cutedsl
speculative-draft-load-format text 1 auto|pt|safetensors|instanttensor|npcache|dummy|sharded_state|presharded|gguf|expert_pack|
    bitsandbytes|mistral|layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer
speculative-attention-mode text 1 prefill|decode
speculative-dsa-topk-backend text 1 sgl-kernel|torch|flashinfer
speculative-draft-kv-cache-dtype text 1 auto|fp8_e5m2|fp8_e4m3|bf16|bfloat16
speculative-moe-runner-backend text 1 auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|experimental_sgl_trtllm|
    flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|flashinfer_megamoe|cutlass|aiter|marlin|
    humming|experimental_sgl_marlin|lora_cutedsl|lora_triton|lora_marlin|hpc_ops|megamoe|intel_xpu
speculative-moe-a2a-backend text 1 none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer|megamoe|deepep_v2|pplx|ascend_tp
speculative-draft-model-quantization text 1 awq|fp8|mxfp8|gptq|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|
    modelopt_fp4|nvfp4_online|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|w4afp8|mxfp4|auto-round|auto-round-int8|
    compressed-tensors|modelslim|mxfp_w4a8|quark|quark_int4fp8_moe|quark_mxfp4|mlx_q4|mlx_q8|unquant|humming
decoupled-spec-role text 1 null|verifier|drafter
speculative-ngram-match-type text 1 BFS|PROB
moe-a2a-backend text 1 none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer|megamoe|deepep_v2|pplx|ascend_tp|
    flashinfer_megamoe
deepep-v2-mode text 1 direct|hybrid
moe-runner-backend text 1 auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|experimental_sgl_trtllm|flashinfer_trtllm_routed|
    flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|flashinfer_megamoe|cutlass|aiter|marlin|humming|
    experimental_sgl_marlin|lora_cutedsl|lora_triton|lora_marlin|hpc_ops|megamoe|intel_xpu
flashinfer-mxfp4-moe-precision text 1 default|bf16|fp8
deepep-mode text 1 auto|normal|low_latency
fuseep-mode integer 1 1|2
deepep-dispatcher-output-dtype text 1 auto|bf16|fp8|int8|nvfp4
ep-dispatch-algorithm text 1 static|dynamic|fake|lp
expert-distribution-recorder-mode text 1 stat|stat_approx|per_pass|per_token
expert-balancedness-report-mode text 1 off|server_log|prometheus|both
elastic-ep-backend text 1 none|mooncake|nixl
elastic-ep-join-mode text 1 scale|recover
mamba-ssm-dtype text 1 float32|bfloat16|float16
mamba-radix-cache-strategy text 1 auto|no_buffer|extra_buffer|extra_buffer_lazy
linear-attn-backend text 1 triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion|intel_xpu
linear-attn-decode-backend text 1 triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion|intel_xpu
linear-attn-prefill-backend text 1 triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion|intel_xpu
linear-attn-verify-backend text 1 triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion|intel_xpu|nv_cutedsl
hicache-host-memory-mode text 1 cache|buffer_only
hicache-write-policy text 1 write_back|write_through|write_through_selective
hicache-io-backend text 1 direct|kernel|kernel_ascend
hicache-mem-layout text 1 layer_first|page_first|page_first_direct|page_first_kv_split|page_head
hicache-storage-backend text 1 file|sim|mooncake|npu_memcache|hf3fs|nixl|aibrix|dynamic|eic|simm|mori|shm|tensorcast|seaweedfs
hicache-storage-prefetch-policy text 1 best_effort|wait_complete|timeout
unified-cache-external-linker-backend text 1 mooncake|mori|dynamic
allowed-media-domains text +
image-processor-backend text 1 auto|torchvision|pil
mm-global-cache-backend text 1 mooncake
mm-feature-transport text 1 cpu|cuda_ipc|cuda_vmm
lora-target-modules text * q_proj|k_proj|v_proj|o_proj|q_a_proj|kv_a_proj_with_mqa|q_b_proj|kv_b_proj|wq_b|wk|weights_proj|
    gate_proj|up_proj|down_proj|qkv_proj|gate_up_proj|embed_tokens|lm_head|qkvr|wo_ud|all
lora-paths text *
lora-eviction-policy text 1 lru|fifo
lora-backend text 1 triton|csgmv|ascend|torch_native|triton_v2
max-lora-chunk-size integer 1 16|32|64|128
disaggregation-mode text 1 null|prefill|decode
disaggregation-transfer-backend text 1 mooncake|nixl|ascend|fake|mori|mooncake_tcp
disaggregation-decode-retraction-backup text 1 cpu_tensor|host_pool|none
encoder-transfer-backend text 1 auto|zmq_to_scheduler|zmq_to_tokenizer|mooncake
encoder-urls text +
encoder-register-urls text +
startup-weight-load-mode text 1 serial|overlap
custom-weight-loader text *
remote-instance-weight-loader-backend text 1 transfer_engine|nccl|modelexpress
model-checksum text ?
prefill-delayer-forward-passes-buckets number +
prefill-delayer-wait-seconds-buckets number +
rl-on-policy-target text 1 fsdp
kv-canary text 1 none|log|raise
debug-tensor-dump-layers integer +
return-hidden-states-mode text 1 last|full
weight-cache-mode text 1 off|daemon|client
ple-offload-backend text 1 pinned|file
flashinfer-a2a-dispatch-type text 1 auto|bf16|nvfp4|mxfp8
prefill-kv-cache-dequant-dtype text 1 auto|nvfp4|fp8_e4m3
dsv4-attn-backend text 1 auto|flashmla|flashmla_mega|trtllm
qsa-indexer-dtype text 1 auto|bfloat16|fp8_e4m3
disaggregation-decode-allocation-policy text 1 early|prefill_complete
dsa-triton-union integer 1 0|2|4
return-aux-hidden-state-layer-ids integer +
sampling-backend text 1 pytorch|ascend|intel_xpu|flashinfer
reasoning-parser text 1 auto|apertus2509|beam|deepseek-r1|deepseek-v3|deepseek-v4|deepseek-v41|dots|glm45|ling3|hunyuan|gpt-oss|
    k2_horizon|kimi|kimi_k2|kimi_k3|mimo|muse|poolside_v1|qwen3|qwen3-thinking|minimax|minimax-append-think|minimax-m3|nanbeige|
    step3|step3p5|mistral|nemotron_3|granite_thinking_parser|interns1|gemma4|inkling|iquest_q1|cohere_command4|gigachat35|
    response_template
tool-call-parser text 1 auto|apertus2509|beam|cohere_command4|deepseekv3|deepseekv31|deepseekv32|deepseekv4|deepseekv41|dots|glm|
    glm45|glm47|gpt-oss|k2_horizon|kimi_k2|kimi_k3|lfm2|ling3|llama3|mimo|minicpm5|mistral|muse|poolside_v1|pythonic|qwen|qwen25|
    qwen3_coder|spark25|step3|step3p5|minimax-m2|minimax-m3|nanbeige|trinity|interns1|hermes|hunyuan|gigachat3|gigachat35|gemma4|
    inkling|iquest_q1|response_template
kv-canary-real-data text 1 none|partial|all
monokernel-backend text 1 amd
"""
# other spelling=name, and name>dest where the two differ
ALIASES = """
model=model-path nccl-init-addr=dist-init-addr tensor-parallel-size=tp-size decode-context-parallel-size=dcp-size
pipeline-parallel-size=pp-size data-parallel-size=dp-size attention-data-parallel-size=attn-dp-size
attention-context-parallel-size=attn-cp-size moe-data-parallel-size=moe-dp-size grpc-http-sidecar-port=smg-http-sidecar-port
fp8-gemm-backend>fp8_gemm_runner_backend fp4-gemm-backend>fp4_gemm_runner_backend context-bucket=cuda-graph-prefill-max-context
speculative-draft-model=speculative-draft-model-path expert-parallel-size=ep-size ep=ep-size elastic-ep-join-mode>ep_join_mode
elastic-ep-join-rank-offset>ep_join_rank_offset enable-hicache=enable-hierarchical-cache
hierarchical-sparse-attention-extra-config=hisparse-config monokernel-backend>enable_amd_monokernel
"""
DEPRECATED = """
smg-grpc-mode grpc-mode disable-fast-image-processor unified-cache-external-linker-config disable-cuda-graph enable-dp-attention
monokernel-backend enable-flashinfer-allreduce-fusion
"""
