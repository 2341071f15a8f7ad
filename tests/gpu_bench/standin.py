# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""No engine: prints a recorded log, then answers POST /generate as the engine streams it. For tests of the benchmark without a GPU.

STANDIN_LOG: the log, printed at once; one without a ready line ends with status 1. STANDIN_DIES: ends with status 1 at the request of
that number. STANDIN_SHORT: answers lack a token.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

ASKED = 0


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request: a line for each token, then the end."""
    global ASKED
    ASKED += 1
    number_of_request = ASKED
    if os.environ.get("STANDIN_DIES") == str(number_of_request):
        os._exit(1)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.partition(b":")[2]) for line in head.splitlines() if line.lower().startswith(b"content-length"))
    asked = json.loads(await reader.readexactly(length))
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    print(f"[2026-11-30 00:00:00] Decode batch, #running-req: {number_of_request % 7 + 1}, #full token: 9", flush=True)
    wanted = asked["sampling_params"]["max_new_tokens"] - ("STANDIN_SHORT" in os.environ)
    for number in range(1, wanted + 1):
        figures = {"prompt_tokens": len(asked["input_ids"]), "completion_tokens": number, "spec_verify_ct": (number + 1) // 2}
        line = b"data: " + json.dumps({"text": "x" * number, "meta_info": figures}).encode() + b"\n\n"
        writer.write(b"%x\r\n%s\r\n" % (len(line), line))
    writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
    await writer.drain()
    writer.close()


async def main(argv: list[str]) -> None:
    """Serve on --host and --port until killed."""
    server = await asyncio.start_server(answer, argv[argv.index("--host") + 1], int(argv[argv.index("--port") + 1]), limit=1 << 24)
    with open(os.environ["STANDIN_LOG"], encoding="utf-8", errors="replace") as log:
        text = log.read()
    print(text, flush=True)
    if "ready to roll" not in text:
        sys.exit(1)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
