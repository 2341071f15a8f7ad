# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What changed in the options from release to release, part 1.

Written by scripts/release-row --write.
"""

from __future__ import annotations

CHANGES = {
    "0.5.10": """
-: speculative-ngram-min-match-window-size speculative-ngram-max-match-window-size speculative-ngram-branch-length
     disable-hicache-numa-detect hierarchical-sparse-attention-extra-config disaggregation-decode-tp disaggregation-decode-dp
     disaggregation-prefill-pp mm-max-concurrent-calls mm-per-request-timeout
~ load-format +mistral|runai_streamer
~ quantization +modelopt_mixed
~ radix-eviction-policy +slru
~ reasoning-parser +mimo|mistral|nemotron_3 -nano_v3
~ mm-attention-backend +flashinfer_cudnn
~ speculative-draft-load-format +mistral|runai_streamer
~ speculative-moe-runner-backend +flashinfer_trtllm_routed
~ speculative-moe-a2a-backend +nixl
~ speculative-draft-model-quantization +modelopt_mixed
~ moe-a2a-backend +nixl
~ moe-runner-backend +flashinfer_trtllm_routed
~ elastic-ep-backend +nixl
~ remote-instance-weight-loader-backend +modelexpress
integer: default-priority-value
size: context-length max-total-tokens
switch: enable-ssl-refresh disable-priority-preemption incremental-streaming-output stream-response-default-include-usage
     enable-streaming-session use-ray enable-mfu-metrics enforce-disable-flashinfer-allreduce-fusion enable-aiter-allreduce-fusion
     enable-elastic-expert-backup enable-hisparse pre-warm-nccl disable-piecewise-cuda-graph enforce-piecewise-cuda-graph
     enable-prefill-context-parallel enable-fused-moe-sum-all-reduce enable-adaptive-dispatch-to-encoder enable-mm-global-cache
text: ssl-keyfile ssl-certfile ssl-ca-certs ssl-keyfile-password hisparse-config modelexpress-config
toggle: experts-shared-outer-loras
max-prefill-tokens size =16384
stream-output switch >incremental-streaming-output !
fp8-gemm-backend text [auto|deep_gemm|flashinfer_trtllm|flashinfer_cutlass|flashinfer_deepgemm|cutlass|triton|aiter] =auto
fp4-gemm-backend text [auto|cutlass|flashinfer_cudnn|flashinfer_cutlass|flashinfer_trtllm] =auto
speculative-ngram-max-trie-depth integer =18
linear-attn-backend text [triton|cutedsl|flashinfer] =triton
linear-attn-decode-backend text [triton|cutedsl|flashinfer]
linear-attn-prefill-backend text [triton|cutedsl|flashinfer]
enable-piecewise-cuda-graph dead !
enable-nan-detection switch !
prefill-cp-mode text [in-seq-split] =in-seq-split
gc-threshold integer+
engine-info-bootstrap-port integer =6789
""",
    "0.5.10.post1": "",
    "0.5.11": """
-: enable-double-sparsity ds-channel-config-path ds-heavy-channel-num ds-heavy-token-num ds-heavy-channel-type
     ds-sparse-decode-threshold multi-item-scoring-delimiter
~ quantization +unquant
~ radix-eviction-policy +priority
~ reasoning-parser +hunyuan|gemma4
~ tool-call-parser +hunyuan|gemma4
~ speculative-algorithm +DFLASH
~ speculative-moe-runner-backend +aiter
~ moe-runner-backend +aiter
~ hicache-storage-backend +simm
integer: grpc-http-sidecar-port speculative-dflash-block-size speculative-dflash-draft-window-size
     speculative-ngram-external-sam-budget
switch: enable-http2 strip-thinking-cache lora-use-virtual-experts speculative-adaptive speculative-skip-dp-mlp-sync
     elastic-ep-rejoin enable-mis enable-breakable-cuda-graph debug-cuda-graph enable-dp-attention-local-control-broadcast
     enforce-shared-experts-fusion disaggregation-decode-enable-radix-cache weight-loader-prefetch-checkpoints
     enable-quant-communications
text: speculative-ngram-external-corpus-path speculative-adaptive-config msprobe-dump-config
toggle: lora-strict-loading
tokenizer-backend text [huggingface|fastokens] =huggingface
batch-notify-size integer =16
collect-tokens-histogram dead !
speculative-ngram-external-corpus-max-tokens integer =10000000
record-nolora-graph toggle =true
weight-loader-prefetch-num-threads integer =4
""",
    "0.5.12": """
-: speculative-dflash-draft-window-size
~ quantization +quark|mlx_q4|mlx_q8
~ reasoning-parser +auto|deepseek-v4|poolside_v1
~ tool-call-parser +auto|deepseekv4|poolside_v1
~ lora-target-modules +q_a_proj|kv_a_proj_with_mqa|q_b_proj|kv_b_proj
~ attention-backend +dsv4|compressed|tokenspeed_mla
~ prefill-attention-backend +dsv4|compressed|tokenspeed_mla
~ decode-attention-backend +dsv4|compressed|tokenspeed_mla
~ fp4-gemm-backend +flashinfer_cutedsl
~ speculative-moe-runner-backend +marlin
~ speculative-moe-a2a-backend +megamoe
~ speculative-draft-model-quantization +quark|mlx_q4|mlx_q8
~ moe-a2a-backend +megamoe
~ moe-runner-backend +marlin
number: prefill-delayer-queue-min-ratio prefill-delayer-max-delay-ms lora-drain-wait-threshold
switch: prefill-only-disable-kv-cache enable-forward-pass-metrics enable-strict-thinking enable-deepep-waterfill
     enable-return-indexer-topk weight-loader-drop-cache-after-load
text: forward-pass-metrics-worker-id forward-pass-metrics-ipc-name speculative-algorithm
detokenizer-worker-num integer =1
model-config-parser text =auto
speculative-draft-window-size integer @speculative-dflash-draft-window-size
hicache-storage-prefetch-policy text [best_effort|wait_complete|timeout] =timeout
hisparse-config text @hierarchical-sparse-attention-extra-config
""",
    "0.5.12.post1": "",
    "0.5.13": """
-: record-nolora-graph enable-nan-detection
~ quantization +quark_mxfp4
~ reasoning-parser +apertus2509|cohere_command4
~ tool-call-parser +apertus2509|cohere_command4|minicpm5
~ attention-backend +dsa|cutedsl_mla
~ prefill-attention-backend +dsa|cutedsl_mla
~ decode-attention-backend +dsa|cutedsl_mla
~ mm-attention-backend +amx_attn|xpu_attn
~ fp4-gemm-backend +marlin
~ speculative-moe-runner-backend +experimental_sgl_trtllm
~ speculative-draft-model-quantization +quark_mxfp4
~ moe-runner-backend +experimental_sgl_trtllm
~ mamba-scheduler-strategy +extra_buffer_lazy
~ disaggregation-transfer-backend +mooncake_tcp
integer: speculative-draft-window-size kv-canary-sweep-interval optimistic-prefill-retries
switch: enable-deepseek-v4-fp4-indexer disable-attn-tp-gather enable-dsa-prefill-context-parallel
text: radix-cache-backend lmcache-config-file
load-snapshot-publish-interval integer =15
trace-modules text =request
asr-max-buffer-seconds integer =60
asr-max-concurrent-sessions integer =32
dsa-prefill-backend text [flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm]
nsa-prefill-backend text [flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm] >dsa-prefill-backend !
dsa-decode-backend text [flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm]
nsa-decode-backend text [flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm] >dsa-decode-backend !
dsa-topk-backend text [sgl-kernel|torch|flashinfer] =sgl-kernel
speculative-dflash-draft-window-size integer >speculative-draft-window-size !
deepep-dispatcher-output-dtype text [auto|bf16|fp8|int8|nvfp4] =auto
kv-canary text [none|log|raise] =none
kv-canary-real-data text [none|partial|all] =none
enable-nsa-prefill-context-parallel switch >enable-dsa-prefill-context-parallel !
dsa-prefill-cp-mode text [in-seq-split|round-robin-split] =round-robin-split
nsa-prefill-cp-mode text [in-seq-split|round-robin-split] >dsa-prefill-cp-mode !
encoder-bootstrap-port integer =8997
encoder-register-urls text+
""",
    "0.5.13.post1": "",
    "0.5.14": """
-: hybrid-kvcache-ratio attention-context-parallel-size moe-data-parallel-size custom-sigquit-handler enable-piecewise-cuda-graph
     debug-tensor-dump-inject
~ quantization +nvfp4_online
~ lora-target-modules +wq_b|wk|weights_proj
~ speculative-draft-model-quantization +nvfp4_online
integer: int8-mamba-ckpt-size cuda-graph-max-bs-decode cuda-graph-max-bs-prefill disaggregation-decode-extra-slots
json: cuda-graph-config
switch: enable-prefill-cp speculative-use-rejection-sampling enable-int8-mamba-checkpoint disable-prefill-cuda-graph
     disable-decode-cuda-graph
attn-cp-size integer =1 @attention-context-parallel-size
moe-dp-size integer =1 @moe-data-parallel-size
cp-strategy text [zigzag|interleave]
ep-dispatch-algorithm text [static|dynamic|fake|lp]
expert-distribution-recorder-mode text [stat|stat_approx|per_pass|per_token]
mamba-radix-cache-strategy text [auto|no_buffer|extra_buffer|extra_buffer_lazy] =auto
hicache-mem-layout text [layer_first|page_first|page_first_direct|page_first_kv_split|page_head] =page_first
cuda-graph-backend-decode text [full|breakable|tc_piecewise|disabled]
cuda-graph-backend-prefill text [full|breakable|tc_piecewise|disabled]
cuda-graph-bs-decode integer+
cuda-graph-bs-prefill integer+
cuda-graph-tc-compiler text [eager|inductor]
flashinfer-allreduce-fusion-backend text [auto|trtllm|mnnvl]
mamba-scheduler-strategy text =auto >mamba-radix-cache-strategy !
cuda-graph-max-bs integer >cuda-graph-max-bs-decode !
cuda-graph-bs integer+ >cuda-graph-bs-decode !
disable-cuda-graph switch ?cuda-graph-backend-{decode,prefill}=disabled !
enable-breakable-cuda-graph switch ?cuda-graph-backend-prefill=breakable !
disable-piecewise-cuda-graph switch ?cuda-graph-backend-prefill=disabled !
enforce-piecewise-cuda-graph switch ?cuda-graph-backend-prefill=tc_piecewise !
piecewise-cuda-graph-tokens integer+ >cuda-graph-bs-prefill !
piecewise-cuda-graph-compiler text [eager|inductor] >cuda-graph-tc-compiler !
piecewise-cuda-graph-max-tokens integer >cuda-graph-max-bs-prefill !
enable-dsa-prefill-context-parallel switch ?enable-prefill-cp !
enable-nsa-prefill-context-parallel switch ?enable-prefill-cp !
enable-prefill-context-parallel switch ?enable-prefill-cp !
dsa-prefill-cp-mode text [in-seq-split|round-robin-split] =round-robin-split ?cp-strategy !
nsa-prefill-cp-mode text [in-seq-split|round-robin-split] ?cp-strategy !
prefill-cp-mode text [in-seq-split] =in-seq-split ?cp-strategy !
enable-flashinfer-allreduce-fusion switch !
""",
    "0.5.15": """
~ quantization +auto-round-int8|mxfp_w4a8
~ speculative-draft-model-quantization +auto-round-int8|mxfp_w4a8
~ linear-attn-backend +flashkda
~ linear-attn-decode-backend +flashkda
~ linear-attn-prefill-backend +flashkda
~ hicache-storage-backend +mori
integer: decoupled-spec-rank mamba-cache-philox-rounds min-free-slots-delay
json: decoupled-spec-connect-endpoints
switch: enable-tf32-matmul enable-page-major-kv-layout enable-unified-memory enable-session-radix-cache
     enable-mamba-cache-stochastic-rounding enable-linear-replayssm
text: decoupled-spec-bind-endpoint spec-trace-dir
dcp-size integer =1 @decode-context-parallel-size
bf16-gemm-backend text [auto|cutedsl] =auto
dsa-paged-mqa-logits-backend text [auto|deepgemm|cutedsl|aiter] =auto
decoupled-spec-role text [null|verifier|drafter] =null
linear-replayssm-cache-len integer =16
""",
    "0.5.15.post1": "",
}
