"""Agents that call tools in a loop of their own, over each API: the debugger sees requests alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx2
from anthropic import Anthropic
from openai import OpenAI

PROPERTIES = {"a": {"type": "integer"}, "b": {"type": "integer"}, "text": {"type": "string"}}
SCHEMA = {"type": "object", "properties": PROPERTIES}
NAMES = ("add", "search")


@dataclass
class Toolbox:
    """Executes tools, by no function of their names, and keeps what it executed."""

    made: list[tuple[str, Any]] = field(default_factory=list)

    def execute(self, name: str, args: Any) -> str:
        self.made.append((name, args))
        return str(args["a"] + args["b"]) if name == "add" else f"found {args['text']}"


#: Asks the model at an address about a text, until it calls no tool; gives what it says.
Loop = Callable[[str, str, Toolbox], str]


def loop_chat(url: str, text: str, tools: Toolbox, stream: bool = False) -> str:
    offered: Any = [
        {"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES
    ]
    messages: list[Any] = [{"role": "user", "content": text}]
    with OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        while True:
            if stream:
                with client.chat.completions.stream(
                    model="m", messages=messages, tools=offered
                ) as events:
                    message = events.get_final_completion().choices[0].message
            else:
                answer = client.chat.completions.create(model="m", messages=messages, tools=offered)
                message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
            if not message.tool_calls:
                return str(message.content)
            for call in message.tool_calls:
                args = json.loads(call.function.arguments)  # type: ignore[union-attr]
                result = tools.execute(call.function.name, args)  # type: ignore[union-attr]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def loop_chat_stream(url: str, text: str, tools: Toolbox) -> str:
    return loop_chat(url, text, tools, stream=True)


def loop_responses(url: str, text: str, tools: Toolbox) -> str:
    offered: Any = [{"type": "function", "name": name, "parameters": SCHEMA} for name in NAMES]
    items: list[Any] = [{"role": "user", "content": text}]
    with OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        while True:
            answer = client.responses.create(model="m", input=items, tools=offered)
            items += [item.model_dump(exclude_none=True) for item in answer.output]
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return answer.output_text
            for call in calls:
                result = tools.execute(call.name, json.loads(call.arguments))
                output = {"type": "function_call_output", "call_id": call.call_id}
                items.append({**output, "output": result})


def loop_messages(url: str, text: str, tools: Toolbox) -> str:
    offered: Any = [{"name": name, "input_schema": SCHEMA} for name in NAMES]
    messages: list[Any] = [{"role": "user", "content": text}]
    with Anthropic(base_url=url, api_key="any", max_retries=0) as client:
        while True:
            answer = client.messages.create(
                model="m", max_tokens=99, messages=messages, tools=offered
            )
            content = [part.model_dump(exclude_none=True) for part in answer.content]
            messages.append({"role": "assistant", "content": content})
            calls = [part for part in answer.content if part.type == "tool_use"]
            if not calls:
                return "".join(part.text for part in answer.content if part.type == "text")
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": tools.execute(call.name, call.input),
                }
                for call in calls
            ]
            messages.append({"role": "user", "content": results})


def loop_gemini(url: str, text: str, tools: Toolbox) -> str:
    declared = [{"name": name, "parametersJsonSchema": SCHEMA} for name in NAMES]
    contents: list[Any] = [{"role": "user", "parts": [{"text": text}]}]
    address = f"{url}/v1beta/models/m:generateContent"
    with httpx2.Client(timeout=60) as client:
        while True:
            body = {"contents": contents, "tools": [{"functionDeclarations": declared}]}
            content = client.post(address, json=body).json()["candidates"][0]["content"]
            contents.append(content)
            calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            if not calls:
                return "".join(part["text"] for part in content["parts"])
            parts = []
            for call in calls:
                result = {"result": tools.execute(call["name"], call["args"])}
                parts.append({"functionResponse": {"name": call["name"], "response": result}})
            contents.append({"role": "user", "parts": parts})


class GeminiHandler(BaseHTTPRequestHandler):
    """Calls `add`, with no id; then says what it gave, and at "twice" calls it again first."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        contents = body["contents"]
        parts = [part for content in contents for part in content["parts"]]
        given = [part["functionResponse"] for part in parts if "functionResponse" in part]
        wanted = 2 if "twice" in parts[0]["text"] else 1
        said = ", ".join(str(each["response"].get("result")) for each in given)
        part: dict[str, Any] = {"text": f"The tools say: {said}"}
        if len(given) < wanted:
            part = {"functionCall": {"name": "add", "args": {"a": 2, "b": 3}}}
        content = {"role": "model", "parts": [part]}
        answer = json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serve_gemini() -> Iterator[str]:
    """A server of Gemini's API; its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), GeminiHandler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


LOOPS: dict[str, Loop] = {
    "chat": loop_chat,
    "chat-stream": loop_chat_stream,
    "responses": loop_responses,
    "messages": loop_messages,
    "gemini": loop_gemini,
}
