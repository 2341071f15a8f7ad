# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What changed in the options from release to release, part 2.

Written by scripts/release-row --write.
"""

from __future__ import annotations

CHANGES = {
    "0.5.16": """
-: grpc-http-sidecar-port enable-deepep-waterfill optimistic-prefill-retries
~ quantization +humming -qoq
~ kv-cache-dtype +mxfp8|nvfp4|fp4_mx_block16
~ fp4-gemm-backend -cutlass
~ dsa-prefill-backend +flashmla_sparse_q8
~ dsa-decode-backend +flashmla_sparse_q8
~ speculative-moe-runner-backend +humming|experimental_sgl_marlin
~ speculative-moe-a2a-backend +ascend_tp
~ speculative-draft-model-quantization +humming -qoq
~ moe-a2a-backend +ascend_tp
~ moe-runner-backend +humming|experimental_sgl_marlin
~ lora-target-modules +qkvr|wo_ud
~ reasoning-parser +minimax-m3|inkling
~ tool-call-parser +minimax-m3|inkling
~ nsa-prefill-backend +flashmla_sparse_q8
~ nsa-decode-backend +flashmla_sparse_q8
integer: grpc-port speculative-dspark-block-size elastic-ep-join-rank-offset elastic-ep-initial-size max-ep-size
     optimistic-prefill-attempts
json: sidecar-args default-chat-template-kwargs
switch: enable-dsa-cache-layer-split enable-scattered-sconv speculative-dspark-align-verify-tokens-to-graph-tier enable-waterfill
     enable-gdn-replayssm-spec enable-flexkv
text: sidecar speculative-dspark-sps-table-path speculative-dspark-confidence-sts-path flexkv-config-file
retraction-policy text [length|priority] =length
smg-grpc-mode switch !
grpc-mode switch !
smg-http-sidecar-port integer @grpc-http-sidecar-port
fuseep-mode integer [1|2] =2
elastic-ep-join-mode text [scale|recover]
elastic-ep-scale-timeout number =600
elastic-ep-rejoin switch !
mm-feature-transport text [cpu|cuda_ipc]
keep-mm-feature-on-device switch !
dllm-fdfo toggle =true
""",
    "0.5.17": """
~ load-format +presharded
~ attention-backend +hpc_ops
~ decode-attention-backend +hpc_ops
~ prefill-attention-backend +hpc_ops
~ bf16-gemm-backend +torch
~ dsa-prefill-backend +flashinfer_sparse_mla
~ dsa-decode-backend +flashinfer_sparse_mla
~ speculative-draft-load-format +presharded
~ speculative-moe-runner-backend +hpc_ops
~ speculative-moe-a2a-backend +pplx
~ moe-a2a-backend +pplx
~ moe-runner-backend +hpc_ops
~ linear-attn-backend +nvidia_kda|ptx_kda
~ linear-attn-decode-backend +nvidia_kda|ptx_kda
~ linear-attn-prefill-backend +nvidia_kda|ptx_kda
~ hicache-storage-backend +shm
~ reasoning-parser +kimi_k3
~ tool-call-parser +kimi_k3
~ nsa-prefill-backend +flashinfer_sparse_mla
~ nsa-decode-backend +flashinfer_sparse_mla
integer: mm-processor-worker-num mm-io-worker-num
switch: enable-cp-decode-attn-tp enable-linear-replayssm-spec
text: weight-cache-socket
toggle: dcp-replicate-q-proj
dwdp-size integer =1
dcp-comm-backend text [ag_rs|a2a|fi_a2a] =ag_rs
flashinfer-autotune-skip-ops text+
mamba-max-states-per-path integer =-1
linear-attn-verify-backend text [triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|nv_cutedsl]
encoder-transfer-backend text [auto|zmq_to_scheduler|zmq_to_tokenizer|mooncake] =auto
return-hidden-states-mode text [last|full]
weight-cache-mode text [off|daemon|client] =off
weight-cache-timeout integer =1800
enable-gdn-replayssm-spec switch >enable-linear-replayssm-spec !
""",
    "0.5.18": """
-: torchao-config
~ fp8-gemm-backend +flashinfer_cutedsl
~ speculative-moe-runner-backend +megamoe
~ moe-runner-backend +megamoe
~ linear-attn-backend +helion
~ linear-attn-decode-backend +helion
~ linear-attn-prefill-backend +helion
~ linear-attn-verify-backend +helion
~ mm-feature-transport +cuda_vmm
~ reasoning-parser +muse
~ tool-call-parser +muse
integer: mm-preprocess-cache-size-mb
number: hicache-ratio
switch: mlx-enable-sampling trust-mm-content-hashes language-model-only
toggle: enable-tp-lm-head-all-to-all
c128-page-size integer =16
http2-max-concurrent-streams integer =200
speculative-draft-kv-cache-dtype text [auto|fp8_e5m2|fp8_e4m3|bf16|bfloat16]
expert-balancedness-report-mode text [off|server_log|prometheus|both] =off
allowed-media-domains text+
media-url-max-file-size-mb integer =64
image-processor-backend text [auto|torchvision|pil] =auto
mm-global-cache-backend text [mooncake] =mooncake
disable-fast-image-processor switch !
disaggregation-decode-retraction-backup text [cpu_tensor|host_pool]
startup-weight-load-mode text [serial|overlap] =serial
enable-expert-distribution-metrics dead ?expert-balancedness-report-mode !
""",
    "0.5.19": """
~ load-format +expert_pack
~ attention-backend +minicpm_flashattn|minicpm_flashinfer
~ decode-attention-backend +minicpm_flashattn|minicpm_flashinfer
~ prefill-attention-backend +minicpm_flashattn|minicpm_flashinfer
~ bf16-gemm-backend +flashinfer_pr4266|gemv
~ speculative-draft-load-format +expert_pack
~ speculative-moe-runner-backend +intel_xpu
~ speculative-moe-a2a-backend +deepep_v2
~ moe-a2a-backend +deepep_v2
~ moe-runner-backend +intel_xpu
~ flashinfer-mxfp4-moe-precision +fp8
~ linear-attn-backend +intel_xpu
~ linear-attn-decode-backend +intel_xpu
~ linear-attn-prefill-backend +intel_xpu
~ linear-attn-verify-backend +intel_xpu
~ hicache-storage-backend +sim
~ reasoning-parser +dots|ling3
~ tool-call-parser +dots|ling3|spark25
integer: prefill-decode-interval gated-launch-port hicache-storage-prefetch-retry-poll-interval
switch: enable-shared-experts-attn-tp enable-dense-mlp-attn-tp enable-layernorm-sp enable-lean-attention enable-w4a4-mxfp4-megamoe
text: load-publish-endpoint
http2-initial-connection-window-size integer =1048576
dsv4-prefill-backend text [auto|flashmla_sparse|flashmla_sparse_q8] =auto
speculative-dsa-topk-backend text [sgl-kernel|torch|flashinfer] =sgl-kernel
deepep-v2-mode text [direct|hybrid] =direct
hicache-host-memory-mode text [cache|buffer_only] =cache
hicache-storage-prefetch-retry-max-attempts integer =4
""",
    "0.5.20": """
-: enable-expert-distribution-metrics stream-output prefill-round-robin-balance collect-tokens-histogram nsa-prefill-backend
     nsa-decode-backend speculative-dflash-draft-window-size mamba-scheduler-strategy cuda-graph-max-bs cuda-graph-bs
     enable-breakable-cuda-graph disable-piecewise-cuda-graph enforce-piecewise-cuda-graph piecewise-cuda-graph-tokens
     piecewise-cuda-graph-compiler piecewise-cuda-graph-max-tokens enable-dsa-prefill-context-parallel
     enable-nsa-prefill-context-parallel enable-gdn-replayssm-spec enable-prefill-context-parallel dsa-prefill-cp-mode
     nsa-prefill-cp-mode prefill-cp-mode
~ quantization -marlin
~ schedule-policy +hrrn
~ attention-backend +qsa -cutlass_mla|dual_chunk_flash_attn
~ decode-attention-backend +qsa -cutlass_mla|dual_chunk_flash_attn
~ prefill-attention-backend +qsa -cutlass_mla|dual_chunk_flash_attn
~ bf16-gemm-backend -flashinfer_pr4266
~ dsa-prefill-backend +triton
~ dsa-decode-backend +triton
~ speculative-moe-runner-backend +flashinfer_megamoe
~ speculative-draft-model-quantization -marlin
~ moe-a2a-backend +flashinfer_megamoe
~ moe-runner-backend +flashinfer_megamoe
~ hicache-storage-backend +npu_memcache
~ reasoning-parser +k2_horizon|nanbeige|granite_thinking_parser
~ tool-call-parser +k2_horizon|nanbeige
json: radix-eviction-policy-config
number: swa-full-tokens-ratio mamba-full-memory-ratio
switch: return-input-ids return-output-ids enable-unified-cache-external-linker enable-response-store
text: uno-lora-path ple-offload-dir
toggle: ple-offload-embedding
dcp-comm-backend text [ag_rs|a2a|fi_a2a]
hicache-storage-prefetch-retry-poll-interval integer =8
hicache-storage-prefetch-retry-max-attempts integer =8
unified-cache-external-linker-backend text [mooncake|mori] =mooncake
sampling-mask-max-tokens integer =4096
ple-offload-backend text [pinned|file] =pinned
speculative-domino-candidate-pool-size integer =2048
flashinfer-a2a-dispatch-type text [auto|bf16|nvfp4|mxfp8]
dsv4-attn-backend text [auto|flashmla|trtllm] =auto
""",
    "0.5.21": """
-: elastic-ep-rejoin keep-mm-feature-on-device
~ kv-cache-dtype -fp4_e2m1
~ schedule-policy +shortest-prefill-first
~ radix-eviction-policy +tlru
~ flashinfer-allreduce-fusion-backend +cutedsl
~ hicache-storage-backend +tensorcast
~ disaggregation-decode-retraction-backup +none
~ sampling-backend +intel_xpu
~ reasoning-parser +deepseek-v41|iquest_q1|gigachat35
~ tool-call-parser +deepseekv41|gigachat35|iquest_q1
integer: shared-experts-tp-size constrained-json-max-whitespace-cnt cuda-graph-max-seq-len-prefill swa-prefix-tails
     speculative-draft-sink-size
number: disaggregation-decode-host-receive-threshold
switch: trust-request-chat-template disaggregation-enable-kv-checksum enable-pd-role-switch enable-linker-mla-dedup
     enable-encoder-swa-bounded-replay enable-decoder-swa-bounded-replay disable-aiter-allreduce-fusion-in-prefill
     disable-aiter-allreduce-fusion-in-decode
text: otlp-service-name
cuda-graph-prefill-max-context size @context-bucket
boundary-reduction text [auto|ar|rs|rsv|rs+rsv] =auto
prefill-kv-cache-dequant-dtype text [auto|nvfp4|fp8_e4m3] =auto
hicache-host-memory-fraction number =0.8
grpc-response-timeout-secs integer =300
""",
    "0.5.22": """
-: cuda-graph-tc-compiler
~ load-format +instanttensor
~ attention-backend +llada2_cfg_flashinfer
~ decode-attention-backend +llada2_cfg_flashinfer
~ prefill-attention-backend +llada2_cfg_flashinfer
~ dsa-prefill-backend +triton_sparse_mla|intel_xpu
~ dsa-decode-backend +intel_xpu
~ cuda-graph-backend-decode -tc_piecewise
~ cuda-graph-backend-prefill -tc_piecewise
~ speculative-draft-load-format +instanttensor
~ hicache-storage-backend +seaweedfs
switch: enable-kv-cache-sharding speculative-use-block-verification enable-watermark
text: file-storage-path watermark-config
toggle: speculative-enable-w4a4-mxfp4-megamoe enable-dsa-fused-indexer
attn-dp-size integer =1 @attention-data-parallel-size
disaggregation-decode-host-receive-threshold number =1.0
qsa-indexer-dtype text [auto|bfloat16|fp8_e4m3] =auto
disaggregation-decode-allocation-policy text [early|prefill_complete] =early
dsa-triton-union integer [0|2|4]
enable-dp-attention switch ?attn-dp-size !
""",
    "0.5.23": """
-: speculative-skip-dp-mlp-sync
~ speculative-moe-runner-backend +lora_cutedsl|lora_triton|lora_marlin
~ moe-runner-backend +lora_cutedsl|lora_triton|lora_marlin
~ unified-cache-external-linker-backend +dynamic
~ lora-backend +triton_v2
~ dsv4-attn-backend +flashmla_mega
~ reasoning-parser +beam|response_template
~ tool-call-parser +beam|response_template
integer: paged-experts-num-resident prefill-decode-interval-min-bs
switch: enable-amd-monokernel enable-paged-experts enable-nvidia-megakernel enable-megamoe-for-layernorm-sp
     enable-http-worker-reuseport enable-return-aux-hidden-states
toggle: enable-tf32-matmul enable-fused-qk-norm-rope mm-enable-dp-encoder enable-decoder-swa-bounded-replay
enable-hierarchical-cache switch @enable-hicache
unified-cache-external-linker-config json !
return-aux-hidden-state-layer-ids integer+
monokernel-backend text [amd] ?enable-amd-monokernel !
""",
}
