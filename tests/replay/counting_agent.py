"""A program that is attached to without a line: it asks a model, and calls a tool that counts.

It appends a line to the file of its first argument for each call of the tool. It asks by httpx: SDKs
send by it, too, but take a second of CPU to import, and many tests start this program.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx

TOOLS: Any = [{"type": "function", "function": {"name": "count", "parameters": {}}}]


def count(word: str) -> int:
    with Path(sys.argv[1]).open("a") as file:
        print(word, file=file)
    return 3


def run(question: str) -> None:
    client = httpx.Client(base_url=os.environ["OPENAI_BASE_URL"])
    messages: Any = [{"role": "user", "content": question}]
    while True:
        asked = {"model": "m", "messages": messages, "tools": TOOLS}
        # A person may take long to answer, and the model is one of the test's.
        answer = client.post("/chat/completions", json=asked, timeout=None)
        message = answer.raise_for_status().json()["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            print(message["content"], flush=True)
            return
        for call in message["tool_calls"]:
            result = count(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})


if __name__ == "__main__":
    run(" ".join(sys.argv[2:]) or "How many?")
