# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the facts of the release table stand in each wheel, below sglang/srt.

Written by scripts/release-row --write.
"""

from __future__ import annotations

PLACES = """
backend_line 0.5.9=layers/attention/attention_registry.py:211 0.5.10=layers/attention/attention_registry.py:219
     0.5.11=layers/attention/attention_registry.py:243 0.5.12=layers/attention/attention_registry.py:263
     0.5.13=layers/attention/attention_registry.py:297 0.5.14=layers/attention/attention_registry.py:303
     0.5.15=layers/attention/attention_registry.py:304 0.5.16=layers/attention/attention_registry.py:356
     0.5.17=layers/attention/attention_registry.py:419 0.5.18=layers/attention/attention_registry.py:407
     0.5.19=layers/attention/attention_registry.py:453 0.5.20=layers/attention/attention_registry.py:451
     0.5.21=layers/attention/attention_registry.py:455 0.5.22=layers/attention/attention_registry.py:480
     0.5.23=layers/attention/attention_registry.py:484
bfloat16_card 0.5.9=model_executor/model_runner.py:908 0.5.10=model_executor/model_runner.py:1084
     0.5.11=model_executor/model_runner.py:1299 0.5.12=model_executor/model_runner.py:1384
     0.5.13=model_executor/model_runner.py:1289 0.5.14=model_executor/model_runner.py:1348
     0.5.15=model_executor/model_runner.py:1435 0.5.16=model_executor/model_runner_components/load_model_utils.py:54
     0.5.17=model_executor/model_runner_components/load_model_utils.py:69
     0.5.18=model_executor/model_runner_components/load_model_utils.py:70
     0.5.19=model_executor/model_runner_components/load_model_utils.py:78
     0.5.22=model_executor/model_runner_components/load_model_utils.py:83
blackwell 0.5.9=layers/attention/attention_registry.py:206 0.5.10=layers/attention/attention_registry.py:214
     0.5.11=layers/attention/attention_registry.py:238 0.5.12=layers/attention/attention_registry.py:258
     0.5.13=layers/attention/attention_registry.py:292 0.5.14=layers/attention/attention_registry.py:298
     0.5.15=layers/attention/attention_registry.py:299 0.5.16=layers/attention/attention_registry.py:344
     0.5.17=layers/attention/attention_registry.py:407 0.5.18=layers/attention/attention_registry.py:399
     0.5.19=layers/attention/attention_registry.py:445 0.5.20=layers/attention/attention_registry.py:441
     0.5.21=layers/attention/attention_registry.py:445 0.5.22=layers/attention/attention_registry.py:470
     0.5.23=layers/attention/attention_registry.py:474
cards 0.5.9=server_args.py:936 0.5.10=server_args.py:1166 0.5.11=server_args.py:1319 0.5.12=server_args.py:1426
     0.5.13=server_args.py:1469 0.5.14=server_args.py:3150 0.5.15=server_args.py:3497 0.5.16=server_args.py:3928
     0.5.17=server_args.py:4635 0.5.18=server_args.py:4830 0.5.19=arg_groups/memory_hook.py:63 0.5.20=arg_groups/memory_hook.py:89
     0.5.22=arg_groups/memory_hook.py:90
chunk 0.5.9=layers/attention/fla/chunk_delta_h.py:19 0.5.12=layers/attention/fla/chunk_delta_h.py:22
     0.5.13=layers/attention/fla/chunk_delta_h.py:23 0.5.16=kernels/ops/attention/fla/chunk_delta_h.py:23
dflash 0.5.11=server_args.py:3332 0.5.12=server_args.py:3602 0.5.13=arg_groups/speculative_hook.py:146
     0.5.14=arg_groups/speculative_hook.py:144 0.5.15=arg_groups/speculative_hook.py:152 0.5.16=arg_groups/speculative_hook.py:165
     0.5.17=arg_groups/speculative_hook.py:167 0.5.19=arg_groups/speculative_hook.py:207 0.5.20=arg_groups/speculative_hook.py:223
     0.5.21=arg_groups/speculative_hook.py:287 0.5.22=arg_groups/speculative_hook.py:309 0.5.23=arg_groups/speculative_hook.py:326
dflash_exact_cell 0.5.18=model_executor/pool_configurator.py:86 0.5.19=model_executor/pool_configurator.py:95
     0.5.20=model_executor/pool_configurator.py:104 0.5.21=model_executor/pool_configurator.py:102
     0.5.22=model_executor/pool_configurator.py:105 0.5.23=model_executor/pool_configurator.py:108
dflash_overlap_off 0.5.11=server_args.py:3438 0.5.12=server_args.py:3707 0.5.13=arg_groups/speculative_hook.py:242 0.5.14=-
draft_counted 0.5.14=model_executor/model_runner_kv_cache_mixin.py:117 0.5.15=model_executor/model_runner_kv_cache_mixin.py:136
     0.5.16=mem_cache/kv_cache_configurator.py:1567 0.5.17=mem_cache/kv_cache_configurator.py:1654
     0.5.18=mem_cache/kv_cache_configurator.py:1808 0.5.19=mem_cache/kv_cache_configurator.py:2040
     0.5.20=mem_cache/kv_cache_configurator.py:2198 0.5.21=mem_cache/kv_cache_configurator.py:2227
     0.5.22=mem_cache/kv_cache_configurator.py:2738 0.5.23=mem_cache/kv_cache_configurator.py:3057
draft_in_cell 0.5.14=model_executor/pool_configurator.py:138 0.5.15=model_executor/pool_configurator.py:148
     0.5.16=model_executor/pool_configurator.py:144 0.5.17=model_executor/pool_configurator.py:156
     0.5.18=model_executor/pool_configurator.py:183 0.5.19=model_executor/pool_configurator.py:192
     0.5.20=model_executor/pool_configurator.py:239 0.5.21=model_executor/pool_configurator.py:225
     0.5.22=model_executor/pool_configurator.py:263 0.5.23=model_executor/pool_configurator.py:269
extra_buffer_models 0.5.9=server_args.py:1603 0.5.10=server_args.py:2003 0.5.11=server_args.py:2239 0.5.12=server_args.py:2343
     0.5.13=server_args.py:2468 0.5.14=server_args.py:4338 0.5.15=arg_groups/overrides.py:982 0.5.16=arg_groups/overrides.py:1133
     0.5.17=arg_groups/overrides.py:1432 0.5.18=arg_groups/overrides.py:1520 0.5.19=arg_groups/overrides.py:519
     0.5.20=arg_groups/overrides.py:474 0.5.21=arg_groups/overrides.py:378 0.5.22=arg_groups/overrides.py:380
     0.5.23=arg_groups/overrides.py:403
gdn_dispatcher 0.5.10=layers/attention/linear/gdn_backend.py:119 0.5.12=layers/attention/linear/gdn_backend.py:123
     0.5.13=layers/attention/linear/gdn_backend.py:146 0.5.16=layers/attention/linear/gdn_backend.py:189
     0.5.17=layers/attention/linear/gdn_backend.py:197 0.5.18=layers/attention/linear/gdn_backend.py:211
     0.5.19=layers/attention/linear/gdn_backend.py:255 0.5.20=layers/attention/linear/gdn_backend.py:367
     0.5.22=layers/attention/linear/gdn_backend.py:370 0.5.23=layers/attention/linear/gdn_backend.py:369
graphs_line 0.5.9=model_executor/model_runner.py:2147 0.5.10=model_executor/model_runner.py:2446
     0.5.11=model_executor/model_runner.py:2779 0.5.12=model_executor/model_runner.py:2945
     0.5.12.post1=model_executor/model_runner.py:2952 0.5.13=model_executor/model_runner.py:2895
     0.5.14=model_executor/model_runner.py:2743 0.5.15=model_executor/model_runner.py:2848
     0.5.16=model_executor/model_runner_components/cuda_graph_setup.py:257
     0.5.17=model_executor/model_runner_components/cuda_graph_setup.py:363
     0.5.18=model_executor/model_runner_components/cuda_graph_setup.py:383
     0.5.19=model_executor/model_runner_components/cuda_graph_setup.py:476
     0.5.20=model_executor/model_runner_components/cuda_graph_setup.py:496
     0.5.21=model_executor/model_runner_components/cuda_graph_setup.py:645
     0.5.22=model_executor/model_runner_components/cuda_graph_setup.py:642
     0.5.23=model_executor/model_runner_components/cuda_graph_setup.py:685
joint 0.5.13=model_executor/model_runner_kv_cache_mixin.py:147 0.5.14=model_executor/model_runner_kv_cache_mixin.py:187
     0.5.15=model_executor/model_runner_kv_cache_mixin.py:206 0.5.16=mem_cache/kv_cache_configurator.py:1771
     0.5.17=mem_cache/kv_cache_configurator.py:1933 0.5.18=mem_cache/kv_cache_configurator.py:2087
     0.5.19=mem_cache/kv_cache_configurator.py:2327 0.5.20=mem_cache/kv_cache_configurator.py:2492
     0.5.21=mem_cache/kv_cache_configurator.py:2521 0.5.22=mem_cache/kv_cache_configurator.py:3036
     0.5.23=mem_cache/kv_cache_configurator.py:3362
kda_dispatcher 0.5.10=layers/attention/linear/kda_backend.py:70 0.5.13=layers/attention/linear/kda_backend.py:74
     0.5.14=layers/attention/linear/kda_backend.py:92 0.5.15=layers/attention/linear/kda_backend.py:99
     0.5.16=layers/attention/linear/kda_backend.py:119 0.5.17=layers/attention/linear/kda_backend.py:178
     0.5.18=layers/attention/linear/kda_backend.py:195 0.5.19=layers/attention/linear/kda_backend.py:206
     0.5.20=layers/attention/linear/kda_backend.py:207 0.5.22=layers/attention/linear/kda_backend.py:278
kernels_line 0.5.10=layers/attention/linear/utils.py:45 0.5.12=layers/attention/linear/utils.py:53
     0.5.15=layers/attention/linear/utils.py:57 0.5.17=layers/attention/linear/utils.py:79
     0.5.18=layers/attention/linear/utils.py:96 0.5.19=layers/attention/linear/utils.py:100
     0.5.22=layers/attention/linear/utils.py:105
lazy_refused 0.5.13=server_args.py:2709 0.5.14=server_args.py:4374 0.5.15=server_args.py:4272 0.5.16=server_args.py:4843 0.5.17=-
model_types 0.5.9=utils/hf_transformers_utils.py:80 0.5.10=utils/hf_transformers_utils.py:100
     0.5.11=utils/hf_transformers/common.py:69 0.5.12=utils/hf_transformers/common.py:74 0.5.13=utils/hf_transformers/common.py:76
     0.5.15=utils/hf_transformers/common.py:77 0.5.16=utils/hf_transformers/common.py:82 0.5.17=utils/hf_transformers/common.py:85
     0.5.18=utils/hf_transformers/common.py:89 0.5.19=utils/hf_transformers/common.py:92
     0.5.20=utils/hf_transformers/common.py:109 0.5.21=utils/hf_transformers/common.py:115
     0.5.23=utils/hf_transformers/common.py:117
modelopt_mixed 0.5.10=configs/model_config.py:813 0.5.11=configs/model_config.py:899 0.5.12=configs/model_config.py:1009
     0.5.13=configs/model_config.py:1025 0.5.14=configs/model_config.py:1148 0.5.15=configs/model_config.py:1155
     0.5.16=configs/model_config.py:1215 0.5.17=configs/model_config.py:1263 0.5.18=configs/model_config.py:1297
     0.5.19=configs/model_config.py:1361 0.5.20=configs/model_config.py:1573 0.5.21=configs/model_config.py:1669
     0.5.22=configs/model_config.py:1748 0.5.23=configs/model_config.py:1857
mtp_models 0.5.9=configs/model_config.py:328 0.5.10=configs/model_config.py:348 0.5.11=configs/model_config.py:394
     0.5.12=configs/model_config.py:475 0.5.13=configs/model_config.py:486 0.5.14=configs/model_config.py:597
     0.5.15=configs/model_config.py:605 0.5.16=configs/model_config.py:648 0.5.17=configs/model_config.py:675
     0.5.18=configs/model_config.py:726 0.5.19=configs/model_config.py:771 0.5.20=configs/model_config.py:919
     0.5.21=configs/model_config.py:1001 0.5.22=configs/model_config.py:1070 0.5.23=configs/model_config.py:1179
multimodal_reserve 0.5.18=mem_cache/kv_cache_configurator.py:130 0.5.19=mem_cache/kv_cache_configurator.py:132
     0.5.20=mem_cache/kv_cache_configurator.py:142 0.5.21=mem_cache/kv_cache_configurator.py:154
     0.5.22=mem_cache/kv_cache_configurator.py:197 0.5.23=mem_cache/kv_cache_configurator.py:202
no_buffer 0.5.9=server_args.py:1762 0.5.10=server_args.py:2207 0.5.11=server_args.py:2454 0.5.12=server_args.py:2569
     0.5.13=server_args.py:2755 0.5.14=server_args.py:4359 0.5.15=server_args.py:4255 0.5.16=server_args.py:4826
     0.5.17=server_args.py:5579 0.5.18=server_args.py:5798 0.5.19=arg_groups/mamba_hook.py:147 0.5.20=arg_groups/mamba_hook.py:146
     0.5.21=arg_groups/mamba_hook.py:149 0.5.22=arg_groups/mamba_hook.py:159
numbers 0.5.9=server_args.py:5741 0.5.10=server_args.py:6711 0.5.11=server_args.py:7471 0.5.12=server_args.py:7929
     0.5.13=server_args.py:8152 0.5.14=arg_groups/speculative_hook.py:512 0.5.15=arg_groups/speculative_hook.py:573
     0.5.16=arg_groups/speculative_hook.py:762 0.5.17=arg_groups/speculative_hook.py:795 0.5.18=arg_groups/speculative_hook.py:813
     0.5.19=arg_groups/speculative_hook.py:966 0.5.20=arg_groups/speculative_hook.py:1144
     0.5.21=arg_groups/speculative_hook.py:1318 0.5.22=arg_groups/speculative_hook.py:1340
     0.5.23=arg_groups/speculative_hook.py:1430
nvfp4_group 0.5.17=layers/quantization/modelopt_quant.py:1335 0.5.18=layers/quantization/modelopt_quant.py:1503
     0.5.19=layers/quantization/modelopt_quant.py:1559 0.5.20=layers/quantization/modelopt_quant.py:1588
     0.5.21=layers/quantization/modelopt_quant.py:1624 0.5.22=layers/quantization/modelopt_quant.py:1628
     0.5.23=layers/quantization/modelopt_quant.py:1649
nvfp4_legacy 0.5.9=layers/quantization/modelopt_quant.py:1045 0.5.10=layers/quantization/modelopt_quant.py:1237
     0.5.11=layers/quantization/modelopt_quant.py:1234 0.5.12=layers/quantization/modelopt_quant.py:1227
     0.5.13=layers/quantization/modelopt_quant.py:1297 0.5.14=layers/quantization/modelopt_quant.py:1315
     0.5.15=layers/quantization/modelopt_quant.py:1317 0.5.16=layers/quantization/modelopt_quant.py:1301
     0.5.17=layers/quantization/modelopt_quant.py:1348 0.5.18=layers/quantization/modelopt_quant.py:1516
     0.5.19=layers/quantization/modelopt_quant.py:1572 0.5.20=layers/quantization/modelopt_quant.py:1601
     0.5.21=layers/quantization/modelopt_quant.py:1637 0.5.22=layers/quantization/modelopt_quant.py:1641
     0.5.23=layers/quantization/modelopt_quant.py:1665
oldest_card 0.5.9=model_executor/model_runner.py:913 0.5.10=model_executor/model_runner.py:1089
     0.5.11=model_executor/model_runner.py:1304 0.5.12=model_executor/model_runner.py:1389
     0.5.13=model_executor/model_runner.py:1294 0.5.14=model_executor/model_runner.py:1353
     0.5.15=model_executor/model_runner.py:1440 0.5.16=model_executor/model_runner_components/load_model_utils.py:63
     0.5.17=model_executor/model_runner_components/load_model_utils.py:78
     0.5.18=model_executor/model_runner_components/load_model_utils.py:79
     0.5.19=model_executor/model_runner_components/load_model_utils.py:86
     0.5.22=model_executor/model_runner_components/load_model_utils.py:91
padding 0.5.17=mem_cache/kv_cache_configurator.py:1921 0.5.18=mem_cache/kv_cache_configurator.py:2075
     0.5.19=mem_cache/kv_cache_configurator.py:2315 0.5.20=mem_cache/kv_cache_configurator.py:2480
     0.5.21=mem_cache/kv_cache_configurator.py:2509 0.5.22=mem_cache/kv_cache_configurator.py:3025
     0.5.23=mem_cache/kv_cache_configurator.py:3351
pools 0.5.9=model_executor/model_runner_kv_cache_mixin.py:151 0.5.10=model_executor/model_runner_kv_cache_mixin.py:179
     0.5.11=model_executor/model_runner_kv_cache_mixin.py:72 0.5.12=model_executor/model_runner_kv_cache_mixin.py:78
     0.5.13=model_executor/model_runner_kv_cache_mixin.py:82 0.5.14=model_executor/model_runner_kv_cache_mixin.py:122
     0.5.15=model_executor/model_runner_kv_cache_mixin.py:141 0.5.16=mem_cache/kv_cache_configurator.py:1703
     0.5.17=mem_cache/kv_cache_configurator.py:1816 0.5.18=mem_cache/kv_cache_configurator.py:1970
     0.5.19=mem_cache/kv_cache_configurator.py:2210 0.5.20=mem_cache/kv_cache_configurator.py:2374
     0.5.21=mem_cache/kv_cache_configurator.py:2402 0.5.22=mem_cache/kv_cache_configurator.py:2910
     0.5.23=mem_cache/kv_cache_configurator.py:3229
pools_line 0.5.9=model_executor/model_runner_kv_cache_mixin.py:745 0.5.10=model_executor/model_runner_kv_cache_mixin.py:906
     0.5.11=model_executor/model_runner_kv_cache_mixin.py:769 0.5.12=model_executor/model_runner_kv_cache_mixin.py:909
     0.5.13=model_executor/model_runner_kv_cache_mixin.py:981 0.5.14=model_executor/model_runner_kv_cache_mixin.py:1091
     0.5.15=model_executor/model_runner_kv_cache_mixin.py:1336 0.5.16=mem_cache/kv_cache_configurator.py:238
     0.5.17=mem_cache/kv_cache_configurator.py:258 0.5.18=mem_cache/kv_cache_configurator.py:295
     0.5.19=mem_cache/kv_cache_configurator.py:315 0.5.20=mem_cache/kv_cache_configurator.py:353
     0.5.21=mem_cache/kv_cache_configurator.py:393 0.5.22=mem_cache/kv_cache_configurator.py:459
     0.5.23=mem_cache/kv_cache_configurator.py:499
radix_off 0.5.10=server_args.py:2168 0.5.11=server_args.py:2398 0.5.12=server_args.py:2513 0.5.13=server_args.py:2699 0.5.14=-
ranks_line 0.5.9=model_executor/model_runner.py:731 0.5.10=model_executor/model_runner.py:891
     0.5.11=model_executor/model_runner.py:1103 0.5.12=model_executor/model_runner.py:1188
     0.5.13=model_executor/model_runner.py:1088 0.5.14=model_executor/model_runner.py:1147
     0.5.15=model_executor/model_runner.py:1233 0.5.16=distributed/bootstrap.py:62 0.5.18=distributed/bootstrap.py:75
     0.5.19=distributed/bootstrap.py:82 0.5.20=distributed/bootstrap.py:81 0.5.21=distributed/bootstrap.py:118
     0.5.22=distributed/bootstrap.py:115
ready_line 0.5.9=entrypoints/http_server.py:1836 0.5.10=entrypoints/http_server.py:1929 0.5.11=entrypoints/http_server.py:2032
     0.5.12=entrypoints/http_server.py:2033 0.5.13=entrypoints/http_server.py:2089 0.5.14=entrypoints/http_server.py:2145
     0.5.15=entrypoints/http_server.py:2169 0.5.16=entrypoints/http_server.py:2293 0.5.17=entrypoints/http_server.py:2355
     0.5.18=entrypoints/http_server.py:2402 0.5.19=entrypoints/http_server.py:2412 0.5.20=entrypoints/http_server.py:2428
     0.5.21=entrypoints/http_server.py:2476 0.5.22=entrypoints/http_server.py:2506 0.5.23=entrypoints/http_server.py:2600
ready_path 0.5.20=entrypoints/http_server.py:662 0.5.21=entrypoints/http_server.py:692 0.5.22=entrypoints/http_server.py:698
     0.5.23=entrypoints/http_server.py:714
running_cap 0.5.9=server_args.py:2363 0.5.10=server_args.py:2994 0.5.11=server_args.py:3431 0.5.12=server_args.py:3700
     0.5.13=arg_groups/speculative_hook.py:235 0.5.14=arg_groups/speculative_hook.py:233 0.5.15=arg_groups/speculative_hook.py:243
     0.5.16=arg_groups/speculative_hook.py:256 0.5.17=arg_groups/speculative_hook.py:258 0.5.19=arg_groups/speculative_hook.py:323
     0.5.20=arg_groups/speculative_hook.py:339 0.5.21=arg_groups/speculative_hook.py:403 0.5.22=arg_groups/speculative_hook.py:425
     0.5.23=arg_groups/speculative_hook.py:442
scheduler_line 0.5.9=managers/scheduler.py:623 0.5.10=managers/scheduler.py:691 0.5.11=managers/scheduler.py:764
     0.5.12=managers/scheduler.py:777 0.5.13=managers/scheduler.py:877 0.5.14=managers/scheduler.py:936
     0.5.15=managers/scheduler.py:945 0.5.15.post1=managers/scheduler.py:946 0.5.16=managers/scheduler.py:930
     0.5.17=managers/scheduler.py:1069 0.5.18=mem_cache/kv_cache_configurator.py:457 0.5.19=mem_cache/kv_cache_configurator.py:503
     0.5.20=mem_cache/kv_cache_configurator.py:509 0.5.21=mem_cache/kv_cache_configurator.py:554
     0.5.22=mem_cache/kv_cache_configurator.py:667 0.5.23=mem_cache/kv_cache_configurator.py:705
slots 0.5.9=model_executor/model_runner_kv_cache_mixin.py:37 0.5.10=model_executor/model_runner_kv_cache_mixin.py:64
     0.5.11=model_executor/model_runner_kv_cache_mixin.py:44 0.5.12=model_executor/model_runner_kv_cache_mixin.py:51
     0.5.13=model_executor/model_runner_kv_cache_mixin.py:54 0.5.14=model_executor/model_runner_kv_cache_mixin.py:55
     0.5.15=model_executor/model_runner_kv_cache_mixin.py:74 0.5.16=mem_cache/kv_cache_configurator.py:101
     0.5.17=mem_cache/kv_cache_configurator.py:118 0.5.18=mem_cache/kv_cache_configurator.py:155
     0.5.19=mem_cache/kv_cache_configurator.py:157 0.5.20=mem_cache/kv_cache_configurator.py:167
     0.5.21=mem_cache/kv_cache_configurator.py:179 0.5.22=mem_cache/kv_cache_configurator.py:222
     0.5.23=mem_cache/kv_cache_configurator.py:227
slots_by_speculation 0.5.9=model_executor/model_runner_kv_cache_mixin.py:358 0.5.10=-
sm100 0.5.9=server_args.py:1604 0.5.10=server_args.py:1982 0.5.11=server_args.py:2218 0.5.12=server_args.py:2322
     0.5.13=server_args.py:2512 0.5.14=server_args.py:4188 0.5.15=arg_groups/overrides.py:794 0.5.16=arg_groups/overrides.py:946
     0.5.17=arg_groups/overrides.py:1243 0.5.18=arg_groups/overrides.py:1322 0.5.19=arg_groups/model_overrides/qwen3_5.py:31
     0.5.21=arg_groups/model_overrides/qwen3_5.py:28
sm100_paged 0.5.10=server_args.py:1998 0.5.11=server_args.py:2234 0.5.12=server_args.py:2338 0.5.13=server_args.py:2528
     0.5.14=server_args.py:4204 0.5.15=arg_groups/overrides.py:812 0.5.16=arg_groups/overrides.py:964
     0.5.17=arg_groups/overrides.py:1261 0.5.18=arg_groups/overrides.py:1340 0.5.19=arg_groups/model_overrides/qwen3_5.py:50
     0.5.21=arg_groups/model_overrides/qwen3_5.py:45
sparse_backend 0.5.9=server_args.py:1212 0.5.10=server_args.py:1537 0.5.11=server_args.py:1703 0.5.12=server_args.py:1817
     0.5.13=server_args.py:1864 0.5.14=server_args.py:3544 0.5.15=arg_groups/overrides.py:329 0.5.16=arg_groups/overrides.py:345
     0.5.17=arg_groups/overrides.py:573 0.5.18=arg_groups/overrides.py:615 0.5.19=arg_groups/model_overrides/deepseek_v2.py:45
     0.5.20=arg_groups/model_overrides/deepseek_v2.py:88 0.5.21=arg_groups/model_overrides/deepseek_v2.py:81
     0.5.22=arg_groups/model_overrides/deepseek_v2.py:103
spec_v2_default 0.5.9=environ.py:414 0.5.10=environ.py:442 0.5.11=environ.py:459 0.5.12=environ.py:470 0.5.13=environ.py:620
     0.5.14=-
spec_v2_removed 0.5.14=arg_groups/speculative_hook.py:71 0.5.15=arg_groups/speculative_hook.py:77
     0.5.16=arg_groups/speculative_hook.py:87 0.5.19=arg_groups/speculative_hook.py:109 0.5.20=arg_groups/speculative_hook.py:110
     0.5.21=-
speculation_reserve 0.5.9=server_args.py:1056 0.5.10=server_args.py:1321 0.5.11=server_args.py:1474 0.5.12=server_args.py:1581
     0.5.13=server_args.py:1632 0.5.14=-
state_line 0.5.9=mem_cache/memory_pool.py:302 0.5.10=mem_cache/memory_pool.py:311 0.5.11=mem_cache/memory_pool.py:325
     0.5.12=mem_cache/memory_pool.py:328 0.5.13=mem_cache/memory_pool.py:356 0.5.14=mem_cache/memory_pool.py:504
     0.5.15=mem_cache/memory_pool.py:601 0.5.16=mem_cache/memory_pool.py:720 0.5.17=mem_cache/memory_pool.py:789
     0.5.18=mem_cache/memory_pool.py:806 0.5.19=mem_cache/memory_pool.py:841 0.5.20=mem_cache/memory_pool.py:866
     0.5.21=mem_cache/memory_pool.py:878 0.5.22=mem_cache/memory_pool.py:982 0.5.23=mem_cache/memory_pool.py:984
stop 0.5.9=managers/tokenizer_manager.py:2148 0.5.10=managers/tokenizer_manager.py:2166 0.5.11=managers/tokenizer_manager.py:2339
     0.5.12=managers/tokenizer_manager.py:2410 0.5.13=managers/tokenizer_manager.py:2614 0.5.14=managers/tokenizer_manager.py:2655
     0.5.15=managers/tokenizer_manager.py:2688 0.5.16=managers/tokenizer_manager.py:2768 0.5.17=managers/tokenizer_manager.py:3131
     0.5.18=managers/tokenizer_manager.py:3157 0.5.19=managers/tokenizer_manager.py:3177 0.5.20=managers/tokenizer_manager.py:3332
     0.5.21=managers/tokenizer_manager.py:3352 0.5.22=managers/tokenizer_manager.py:3556 0.5.23=managers/tokenizer_manager.py:3559
strategy 0.5.9=server_args.py:1699 0.5.10=server_args.py:2123 0.5.11=server_args.py:2366 0.5.12=server_args.py:2481
     0.5.13=server_args.py:2664 0.5.14=server_args.py:4380 0.5.15=arg_groups/overrides.py:1007 0.5.16=arg_groups/overrides.py:1159
     0.5.17=arg_groups/overrides.py:1462 0.5.18=arg_groups/overrides.py:1550 0.5.19=arg_groups/overrides.py:554
     0.5.20=arg_groups/overrides.py:514 0.5.21=arg_groups/overrides.py:428 0.5.22=arg_groups/overrides.py:430
     0.5.23=arg_groups/overrides.py:454
text_only 0.5.17=models/qwen3_5_text.py:208 0.5.18=models/qwen3_5_text.py:225 0.5.19=models/qwen3_5_text.py:257
     0.5.20=models/qwen3_5_text.py:258 0.5.21=models/qwen3_5_text.py:257 0.5.22=models/qwen3_5_text.py:258
     0.5.23=models/qwen3_5_text.py:335
verification 0.5.13=managers/schedule_batch.py:1492 0.5.14=managers/schedule_batch.py:1594 0.5.15=managers/schedule_batch.py:1578
     0.5.15.post1=managers/schedule_batch.py:1579 0.5.16=-
weights_line 0.5.9=model_executor/model_runner.py:899 0.5.10=model_executor/model_runner.py:1075
     0.5.11=model_executor/model_runner.py:1290 0.5.12=model_executor/model_runner.py:1375
     0.5.13=model_executor/model_runner.py:1280 0.5.14=model_executor/model_runner.py:1339
     0.5.15=model_executor/model_runner.py:1426 0.5.16=model_executor/model_runner.py:906
     0.5.17=model_executor/model_runner.py:1012 0.5.18=model_executor/model_runner.py:1053
     0.5.19=model_executor/model_runner.py:1128 0.5.20=model_executor/model_runner.py:1166
     0.5.21=model_executor/model_runner.py:1188 0.5.22=model_executor/model_runner.py:1255
     0.5.23=model_executor/model_runner.py:1274
"""
