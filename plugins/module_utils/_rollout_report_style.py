# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The style sheet of the rollout's report. Nothing is fetched: fonts are the reader's own. Text has a contrast of 4.5 or more, marks 3."""

from __future__ import annotations

CSS = """
:root{color-scheme:light dark;
--bg:#fafaf8;--card:#fff;--text:#1b1d21;--muted:#5a6069;--line:#e2e3e1;--soft:#f1f1ee;
--good:#1b6b40;--bad:#b3261e;--warn:#855300;--link:#1f5fa8;
--prepare:#7b8492;--drain:#7a5bc2;--switch:#b07314;--gate:#2f6fb5;--prove:#25834f;--back:#c0392f;
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
@media (prefers-color-scheme:dark){:root{
--bg:#131519;--card:#1a1d22;--text:#e5e7ea;--muted:#a1a8b3;--line:#2d323a;--soft:#22262d;
--good:#79d19d;--bad:#ff9d94;--warn:#efbc6c;--link:#8fc0f5;
--prepare:#8d96a5;--drain:#a78ee6;--switch:#d79a3b;--gate:#5f9fe6;--prove:#4fb57e;--back:#ee7268}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--text);font:16px/1.5 var(--sans);overflow-wrap:break-word}
main{max-width:58rem;margin:0 auto;padding:3rem 1.5rem 4rem}
h1{font-size:1.85rem;line-height:1.2;font-weight:650;letter-spacing:-.015em;margin:.3rem 0 .6rem;text-wrap:balance}
h2{font-size:1.1rem;line-height:1.3;font-weight:650;margin:3rem 0 .9rem}
h3{font-size:.8rem;line-height:1.4;font-weight:600;color:var(--muted);margin:1.5rem 0 .4rem}
p{margin:0 0 .6rem;max-width:44rem}
a{color:var(--link);text-underline-offset:.15em}
:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:2px}
.muted,.eyebrow{color:var(--muted)}
.eyebrow{font-size:.9rem;margin:0}
.facts{color:var(--muted);font-size:.9rem;margin:0;display:flex;flex-wrap:wrap;gap:.1rem 1.25rem;padding:0;list-style:none}
code,pre,.mono{font-family:var(--mono);font-size:.85em;font-variant-ligatures:none}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
.verdict{font-weight:600;white-space:nowrap}
.counts{display:flex;flex-wrap:wrap;gap:.4rem 1.5rem;margin:1.1rem 0 0;padding:0;list-style:none}
.counts b{font-size:1.25rem;font-weight:650;font-variant-numeric:tabular-nums;margin-right:.35rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:0 0 .8rem;padding:0;list-style:none;font-size:.85rem;color:var(--muted)}
.legend svg{margin-right:.4rem;vertical-align:-1px}
svg{display:block;overflow:visible}
.legend svg{display:inline-block}
.p-prepare{fill:var(--prepare);stroke:var(--prepare)}.p-drain{fill:var(--drain);stroke:var(--drain)}
.p-switch{fill:var(--switch);stroke:var(--switch)}.p-gate{fill:var(--gate);stroke:var(--gate)}
.p-prove{fill:var(--prove);stroke:var(--prove)}.p-back{fill:var(--back);stroke:var(--back)}
.step{stroke:var(--card);stroke-width:1.5}
.cross circle{fill:var(--bad);stroke:var(--card);stroke-width:1.5}.cross path{stroke:var(--card);stroke-width:1.75;stroke-linecap:round}
.sign{display:inline-block;fill:none;stroke:currentColor;stroke-width:1.75;stroke-linecap:round;stroke-linejoin:round;margin-right:.4rem}
.axis text{fill:var(--muted);font:12px var(--sans);font-variant-numeric:tabular-nums}
.axis line{stroke:var(--muted)}
.over{display:grid;grid-template-columns:fit-content(13rem) 1fr;gap:.1rem 1rem;align-items:center;margin:0}
.over dt{min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-size:.9rem}
.over dd{margin:0;min-width:0;border-bottom:1px solid var(--line);padding:.28rem 0}
.over dd.end{border:0;padding:0}
.over.dense{row-gap:0;grid-template-columns:1fr}.over.dense dt{position:absolute;width:1px;height:1px;clip-path:inset(50%)}
.over.dense dd{border:0;padding:0;line-height:0}
.box{background:var(--card);border:1px solid var(--line);border-radius:8px;margin:0 0 .75rem}
.box>summary,.box>.body{padding:.75rem 1.1rem}
.body .box:last-child{margin-bottom:0}
.box>.body{padding-top:.25rem;padding-bottom:1.1rem}
summary{cursor:pointer;display:flex;flex-wrap:wrap;align-items:baseline;gap:.1rem .9rem;list-style:none;border-radius:8px}
summary::-webkit-details-marker{display:none}
summary::before{content:"";align-self:center;border:solid var(--muted);border-width:0 1.5px 1.5px 0;width:.45rem;height:.45rem;
transform:rotate(-45deg);flex:none;margin-left:.1rem}
details[open]>summary::before{transform:rotate(45deg)}
summary .name{font-weight:650;min-width:0;overflow-wrap:anywhere}
summary .side{margin-left:auto;color:var(--muted);font-size:.9rem;font-variant-numeric:tabular-nums}
.cause{border-left:3px solid var(--bad);padding:.1rem 0 .1rem 1rem;margin:.4rem 0 1rem}
.cause p:first-child{font-weight:600}
.pairs{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;margin:0;font-size:.95rem}
.pairs dt{color:var(--muted)}.pairs dd{margin:0;min-width:0;overflow-wrap:anywhere}
pre{background:var(--soft);border-radius:6px;padding:.75rem .9rem;margin:.4rem 0 0;overflow-x:auto;max-height:26rem;
line-height:1.45;white-space:pre}
.wrap{white-space:pre-wrap;overflow-wrap:anywhere}
.inner{margin:.6rem 0 1.1rem}.inner>summary{font-size:.9rem;color:var(--muted)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.35rem 0 .35rem 1rem;border-bottom:1px solid var(--line);white-space:nowrap;vertical-align:baseline}
th:first-child,td:first-child{text-align:left;padding-left:0}
thead th{font-weight:500;color:var(--muted)}tbody th{font-weight:400}
tbody tr:last-child>*{border-bottom:0}
.phases{display:flex;flex-wrap:wrap;gap:.1rem 1rem;margin:.5rem 0 0;padding:0;list-style:none;font-size:.9rem}
.phases span{color:var(--muted)}
blockquote{margin:0;padding:0}
footer{margin-top:3.5rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--muted);font-size:.85rem}
@media (max-width:36rem){
main{padding:1.5rem 1rem 3rem}h1{font-size:1.5rem}h2{margin-top:2.25rem}
.over{grid-template-columns:fit-content(6.5rem) 1fr;column-gap:.6rem}
.box>summary,.box>.body{padding-left:.85rem;padding-right:.85rem}
.pairs{grid-template-columns:1fr;gap:0}.pairs dd{margin-bottom:.5rem}
.minor{display:none}
th,td{padding-left:.6rem}tbody th{white-space:normal}}
@media print{body{background:#fff}.box{break-inside:avoid}pre{max-height:none;white-space:pre-wrap}}
"""
