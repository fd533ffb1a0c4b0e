"""A client of the coding agent that lives in a Jupyter server. It needs nothing but Python.

    export JUPYTER_TOKEN=...
    python coding_client.py http://127.0.0.1:8888/ --workspace repo --model gpt-5-mini

It opens a session, or with --resume one that was kept (--list shows them), sends what you type, prints
what the agent does, asks you where a call needs an approval, and finds back after a break.
"""

import argparse
import json
import os
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen


class Client:
    def __init__(self, server, token):
        self.sessions = server.rstrip("/") + "/agentstepper/api/coding/sessions"
        self.headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}

    def ask(self, path, **body):
        """GET, or POST a body, and give the answer; a refusal is an HTTPError."""
        data = json.dumps(body).encode() if body else None
        with urlopen(Request(self.sessions + path, data, self.headers), timeout=120) as answer:
            return json.loads(answer.read() or b"null")

    def events(self, session):
        """Give (event, data) of a session's stream, for as long as there is the session."""
        last = {}
        while True:
            request = Request(f"{self.sessions}/{session}/stream", headers=self.headers | last)
            try:
                with urlopen(request, timeout=60) as stream:  # the server says something each 15 s
                    fields = {}
                    for line in stream:
                        name, _, value = line.decode().rstrip("\n").partition(": ")
                        if name:
                            fields[name] = value
                        elif "id" in fields:  # by which the server knows where we were
                            last = {"Last-Event-ID": fields["id"]}
                            yield fields.get("event"), json.loads(fields.get("data", "null"))
                            fields = {}
            except (OSError, HTTPException) as cut:  # off: again, from where we were
                if getattr(cut, "code", None) == 404:  # the session is closed
                    return
            time.sleep(0.5)


def approve(client, session, call):
    """Ask a person about a call, and send the answer."""
    print(f"\n? {call['name']} {json.dumps(call['args'])}: {call['why']} ({call['risk']} risk)")
    said = input("  y, n REASON, or JSON to run instead: ").strip()
    args = json.loads(said) if said.startswith("{") else None
    reason = said[1:].strip() if args is None else ""
    answer = {"approved": said == "y" or bool(args), "reason": reason, "editedArgs": args}
    if answer["approved"] and call["risk"] == "high":  # a second gesture, which no habit makes
        is_typed = input(f"  Type {call['name']} to confirm: ") == call["name"]
        answer |= {"approved": is_typed, "confirmed": is_typed}
    try:
        client.ask(f"/{session}/approvals/{quote(call['callId'], safe='')}", **answer)
    except HTTPError as refusal:  # decided in the debugger meanwhile, say
        print(" ", refusal.read().decode())


def follow(client, session, events):
    """Show what happens until the message is answered."""
    for happened in events:
        match happened:
            case "text_delta", data:
                print(data["text"], end="", flush=True)
            case "tool_call", data:
                print(f"\n> {data['name']} {json.dumps(data['args'])}")
            case "tool_result", data:
                print(f"< {json.dumps(data['data'] if data['ok'] else data['error'])[:500]}")
            case "approval_required", data:
                approve(client, session, data)
            case "error", data:
                print(f"\n! {data['message']}")
            case "completed", data:
                print(f"\n[{data['reason']}]")
                return
    raise SystemExit(f"The session is gone: --resume {session} goes on with it.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server", help="the Jupyter server's address")
    usual = {"--workspace": ".", "--provider": "openai", "--model": "", "--resume": ""}
    for name, default in usual.items():
        parser.add_argument(name, default=default)
    parser.add_argument("--list", action="store_true", help="list the sessions")
    options = parser.parse_args()
    client = Client(options.server, os.environ["JUPYTER_TOKEN"])  # arguments are seen by others
    how = {"workspacePath": options.workspace, "provider": options.provider, "model": options.model}
    try:
        if options.list:
            for each in client.ask("")["sessions"]:
                print(each["id"], each["problem"] or each["state"], each["prompt"][:60], sep="  ")
            return
        session = client.ask(f"/{options.resume}/resume" if options.resume else "", **how)["id"]
        print("session", session)
        if options.resume:
            shown = client.ask(f"/{session}?messages=20")
            print(f"… {shown['earlier']} earlier messages")
            for message in shown["messages"]:
                print(message["role"], message["content"][:500], sep=": ")
        events = client.events(session)
        while message := input("you: "):
            client.ask(f"/{session}/chat", message=message)
            follow(client, session, events)
    except (EOFError, KeyboardInterrupt, HTTPError) as end:
        print("!", end.read().decode() if isinstance(end, HTTPError) else "The session stays open.")


if __name__ == "__main__":
    main()
