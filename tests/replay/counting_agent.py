"""A program that is attached to without a line: it asks a model, and calls a tool that counts.

It appends a line to the file of its first argument for each call of the tool.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import openai

TOOLS: Any = [{"type": "function", "function": {"name": "count", "parameters": {}}}]


def count(word: str) -> int:
    with Path(sys.argv[1]).open("a") as file:
        print(word, file=file)
    return 3


def run(question: str) -> None:
    client = openai.OpenAI()
    messages: Any = [{"role": "user", "content": question}]
    while True:
        completion = client.chat.completions.create(model="m", messages=messages, tools=TOOLS)
        message = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            print(message.content, flush=True)
            return
        for call in message.tool_calls:
            function: Any = call.function
            result = count(**json.loads(function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


if __name__ == "__main__":
    run(" ".join(sys.argv[2:]) or "How many?")
