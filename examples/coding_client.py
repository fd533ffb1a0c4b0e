"""A client of the coding agent that lives in a Jupyter server. It needs nothing but Python.

    export JUPYTER_TOKEN=...
    python coding_client.py http://127.0.0.1:8888/ --workspace repo --model gpt-5-mini

It opens a session, or with --resume ID one that was kept, and sends each line that you type. It prints
what the agent says and does, asks you where a call needs an approval, and finds back after a break.
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

    def post(self, path, **body):
        """Send, and give the answer; a refusal is an HTTPError."""
        data = json.dumps(body).encode()
        request = Request(self.sessions + path, data, self.headers, method="POST")
        with urlopen(request, timeout=120) as answer:
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
                            continue
                        if "id" in fields:  # by which the server knows where we were
                            last = {"Last-Event-ID": fields["id"]}
                        if "event" in fields:
                            yield fields["event"], json.loads(fields["data"])
                        fields = {}
            except (OSError, HTTPException) as cut:  # off: again, from where we were
                if getattr(cut, "code", None) == 404:
                    return  # the session is closed
            time.sleep(0.5)


def why(refusal):
    return json.loads(refusal.read())["message"]


def approve(client, session, call):
    """Ask a person about a call, and send the answer."""
    print(f"\n? {call['name']} {json.dumps(call['args'])}: {call['why']} ({call['risk']} risk)")
    said = input("  y, n REASON, or JSON to run instead: ").strip()
    answer = {"approved": not said.startswith("n"), "reason": said[1:].strip()}
    if said.startswith("{"):
        answer = {"approved": True, "editedArgs": json.loads(said)}
    try:
        client.post(f"/{session}/approvals/{quote(call['callId'], safe='')}", **answer)
    except HTTPError as refusal:  # decided in the debugger meanwhile, say
        print(" ", why(refusal))


def follow(client, session, events):
    """Show what happens until the message is answered. False: the session is gone."""
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
                return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server", help="the Jupyter server's address")
    parser.add_argument("--workspace", default=".", help="a folder below the server's root")
    parser.add_argument("--provider", default="openai")
    parser.add_argument("--model", required=True)
    parser.add_argument("--resume", metavar="ID", help="a session that was kept")
    options = parser.parse_args()
    client = Client(options.server, os.environ["JUPYTER_TOKEN"])  # arguments are seen by others
    how = {"workspacePath": options.workspace, "provider": options.provider, "model": options.model}
    try:
        session = client.post(f"/{options.resume}/resume" if options.resume else "", **how)["id"]
        print("session", session)
        events = client.events(session)
        while message := input("you: "):
            client.post(f"/{session}/chat", message=message)
            if not follow(client, session, events):
                return print(f"The session is gone: --resume {session} goes on with it.")
    except (EOFError, KeyboardInterrupt):
        print()
    except HTTPError as refusal:
        print("!", why(refusal))


if __name__ == "__main__":
    main()
