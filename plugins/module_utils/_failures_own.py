# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What this collection concludes or refuses by itself while it proves a release: the gate, the probe and the engine check.

The messages are made where the figures are; a contract test holds ``symptoms`` against them. Codes are stable: never reuse one.
"""

from __future__ import annotations

from ansible_collections.inference.sglang.plugins.module_utils._failure_types import SETTINGS, Own

# ----- how a start ended, where no line of the engine tells why -----
UNKNOWN = Own(
    "GATE-001",
    ("not in the catalogue: … at …",),
    "The start failed with an exception that the catalogue does not know. The first traceback's exception and last frame are shown.",
    "read the excerpt; report it if it is not clear",
)
SILENT_DEATH = Own(
    "GATE-002",
    ("the engine ended and logged no error",),
    "The process ended by itself and nothing in its log says why.",
    "read the excerpt and the unit's status",
)
KILLED = Own(
    "GATE-003",
    ("the engine was killed (SIGKILL) and had logged no error: somebody's kill, or the kernel's OOM killer",),
    "A kill from outside: somebody's, or the kernel's OOM killer.",
    "look at the kernel's log for that time (journalctl -k)",
)
STOPPED = Own(
    "GATE-004",
    ("somebody asked the server to stop while it was starting", "somebody asked the server to stop while it was watched"),
    "The engine got SIGTERM: systemctl stop, a shutdown, or another play.",
    "start it again",
)
SUPERSEDED = Own(
    "GATE-005",
    ("another start began in this log: systemd started the unit again, or two servers write to one file",),
    "The log holds the first line of another start after the one that is watched.",
    "look at why the first start ended; give each instance its own log file",
    "sglang_server_log_file",
)
NO_DISPATCHER = Own(
    "GATE-006",
    (
        "the server is up, but the line '…' of a … model never came: it runs other kernels",
        "the server is up, but '…' came … time(s), not …: the draft model is not running",
    ),
    "The server answers, but it runs without the kernels of the model's family, or without its draft model.",
    "compare the plan with the arguments that the engine printed (backend, speculation), and its release with the plan's",
    SETTINGS,
)
STALLED = Own(
    "GATE-007",
    ("nothing new for … s in the stage '…'",),
    "The start went silent in the stage that is named, and nothing in the log tells why. A repeated warning is no progress.",
    "look at the GPUs and the processes now, while it hangs (nvidia-smi, py-spy); raise the limit if this stage may be that slow",
    "sglang_server_gate_stall_timeout",
)
TIME_LIMIT = Own(
    "GATE-008",
    ("not ready after … s; the stage is '…'",),
    "The start moves on, but not within its time.",
    "raise the limit if this start may be that slow",
    "sglang_server_gate_timeout",
)
NOTHING_KEPT = Own(
    "GATE-009",
    ("the unit runs, but … holds no line of this start after … s",),
    "The launcher writes a line before anything else, and it is not there: journald keeps nothing, or the file is another one or full.",
    "let journald keep messages (Storage= in journald.conf is not none, /var/log is not full), or give the instance a log file",
    "sglang_server_log_file",
)

OWN: tuple[Own, ...] = (
    *(UNKNOWN, SILENT_DEATH, KILLED, STOPPED, SUPERSEDED, NO_DISPATCHER, STALLED, TIME_LIMIT, NOTHING_KEPT),
    # ----- the gate cannot watch -----
    Own("GATE-100", ("there is no unit …",), "The unit to watch is not installed.", "deploy the server first"),
    Own("GATE-101", ("… has not been started",), "The unit exists, but there is no start to wait for.", "systemctl start the unit"),
    Own(
        "GATE-102",
        ("the log file's directory does not exist",),
        "The start cannot be read from a file that cannot be there.",
        "make the directory, or correct the path",
        "sglang_server_log_file",
    ),
    Own(
        "GATE-103",
        ("cannot read the journal",),
        "journalctl is not on the host, or cannot be started.",
        "give the instance a log file",
        "sglang_server_log_file",
    ),
    Own("GATE-104", ("cannot read the log file",), "The log file is closed to the user of the play.", "run the play with become"),
    Own("GATE-105", ("cannot ask systemd about the unit",), "systemctl is missing, hangs or fails.", "run systemctl show on the host"),
    Own(
        "GATE-106",
        ("the gate names a dispatcher line but expects it no time",),
        "The gate's options contradict each other. The role passes the plan's own.",
        "pass the plan's gate unchanged",
    ),
    # ----- the probe -----
    Own(
        "PROBE-001",
        ("… could not be asked",),
        "Nothing listens at the server's address, or the connection broke: the server died, or listens elsewhere.",
        "look at the unit and its log",
        "sglang_server_host, sglang_server_port",
    ),
    Own(
        "PROBE-002",
        ("the server says that it is not healthy",),
        "The engine's own health check, which generates a token, failed three times.",
        "look at the server's log",
        source="SGLang 0.5.11 http_server.py",
    ),
    Own(
        "PROBE-003",
        ("the server lists no models", "the server lists no model", "the server does not serve the model under its name"),
        "Another server answers on that port, or the model is served under another name.",
        "correct the name; look at who listens on the port",
        "sglang_server_served_model_name",
    ),
    Own(
        "PROBE-004",
        ("… was refused", "a long completion was refused", "the answer to … holds no message", "the answer to … is not JSON"),
        "The answer is no OpenAI answer: an error of the engine, or another kind of server.",
        "look at the server's log at that time; look at who listens on the port",
    ),
    Own(
        "PROBE-005",
        ("the answer to … ended while the model was still thinking", "the answer to … is no sensible text: …"),
        "The answer is empty: the model ended at once, or was still thinking when its tokens were used up.",
        "check the chat template and the model's files; a model that always thinks needs a question with a short answer",
        "sglang_server_probe_question",
    ),
    Own(
        "PROBE-006",
        ("the answer to … is not UTF-8", "the answer to … is no sensible text: …"),
        "The model speaks nonsense (one token repeated, broken bytes): damaged files, a wrong quantisation or a broken kernel.",
        "check the model's files, the quantisation and the kernels",
        "model_shards_revision",
    ),
    Own(
        "PROBE-007",
        ("the server answers … wrongly",),
        "The answer is text, but not the expected one: another model, a wrong chat template, damaged weights or too hard a question.",
        "check the model's files and its chat template; a site can set its own question and expectation",
        "sglang_server_probe_question, sglang_server_probe_expect",
    ),
    Own(
        "PROBE-008",
        ("… did not finish",),
        "The engine aborted the request.",
        "look at the server's log",
        source="SGLang 0.5.11: finish_reason abort",
    ),
    Own(
        "PROBE-009",
        (
            "a streamed request was refused",
            "the stream does not end with [DONE]",
            "the stream ends without a finish reason",
            "the stream holds an event that is not JSON",
            "the stream holds no sensible text: …",
        ),
        "A stream breaks off or holds something else than tokens, where a whole answer was right.",
        "look at the server's log",
    ),
    Own(
        "PROBE-010",
        ("… was not answered in time", "the time for the probe was up before …"),
        "The server accepts requests and does not answer them: a compiler at the first sampled request (90 s were seen), or a hang.",
        "look at the server's log and at the GPUs; raise the limit if this server is that slow",
        "sglang_server_probe_timeout",
    ),
    Own(
        "PROBE-011",
        ("a reasoning parser is configured, but no reasoning was split off", "the reasoning parser leaves thinking in the answer"),
        "The reasoning parser is not the model's.",
        "choose the model's own reasoning_parser, or none",
        f"{SETTINGS}.reasoning_parser",
    ),
    Own(
        "PROBE-012",
        ("a tool call parser is configured, but the model's tool call was not understood",),
        "The tool call parser is not the model's, or the model calls no tools.",
        "choose the model's own tool_call_parser, or none",
        f"{SETTINGS}.tool_call_parser",
    ),
    Own(
        "PROBE-013",
        (
            "speculative decoding does nothing: hardly a draft token is accepted",
            "speculative decoding is planned, but the engine measures no accept length",
        ),
        "MTP costs memory and time and gives nothing: the weights hold no MTP tensors, they were not loaded, or speculation is off.",
        "look for mtp.* tensors in the model's index and for 'not loaded' in the log; otherwise turn speculation off",
        "sglang_server_probe_min_accept_length",
        "sgl-project/sglang issue 35797; z-lab/paroquant issue 47",
    ),
    Own(
        "PROBE-014",
        ("the server refuses the key",),
        "The server was started with another API key than the one that is sent.",
        "deploy the key again",
        "sglang_server_api_key",
    ),
    Own("PROBE-020", ("not a server's address",), "The address is no http or https URL with a host.", "correct url"),
    Own(
        "PROBE-021",
        ("the API key holds characters that an HTTP header cannot carry",),
        "No client could send this key.",
        "deploy with another key",
        "sglang_server_api_key",
    ),
    Own("PROBE-022", ("cannot read the API key",), "The key's file is root's alone.", "run the play with become"),
    Own(
        "PROBE-023",
        ("expect is not a regular expression",),
        "The expected answer cannot be compared with anything.",
        "correct it",
        "sglang_server_probe_expect",
    ),
    Own(
        "PROBE-030",
        ("the server runs, but not as this site expects",),
        "An expression of the site is not true of the plan's, the gate's and the probe's figures.",
        "look at the figures of the gate and the probe, then change the settings or the expectation",
        "sglang_server_expectations",
    ),
    # ----- the engine check: nothing that runs was touched -----
    Own(
        "CHECK-001",
        ("the engine's argument parser refuses the release",),
        "The installed SGLang does not know an argument, or not with that value. Its own words follow.",
        "correct the setting",
        "sglang_server_settings, sglang_server_extra_args",
    ),
    Own(
        "CHECK-002",
        ("the engine refuses the release while it resolves its arguments",),
        "Each argument is known, but SGLang does not take them together. The exception and its place follow.",
        "correct the setting",
        SETTINGS,
    ),
    Own(
        "CHECK-003",
        ("the engine cannot be imported",),
        "A package of the environment is missing, broken or of another release.",
        "rebuild the environment (role ml_env) and read the last lines of 'stderr'",
        "ml_env_lock",
    ),
    Own(
        "CHECK-004",
        ("the engine check ended without an answer",),
        "The environment's Python crashed or was killed while it imported SGLang.",
        "try the environment's python by hand: python -c 'import sglang'",
    ),
    Own(
        "CHECK-005",
        ("the engine check did not end in time",),
        "Importing SGLang takes most of a minute from a cold disk, and more on a busy host.",
        "raise the limit, or look at the host's disk and load",
        "sglang_server_engine_check_timeout",
    ),
    Own(
        "CHECK-006",
        ("the service account is not there",),
        "The user or the group that the unit runs as does not exist on the host.",
        "run the role inference_host",
        "sglang_server_user, sglang_server_group",
    ),
    Own(
        "CHECK-007",
        ("the environment's interpreter cannot be started",),
        "The environment's Python is missing, not executable, or closed to the service user.",
        "rebuild the environment (role ml_env), or correct its path",
        "sglang_server_environment_path",
    ),
)
