"""The codes of every error that travels, with what each means and what to do.

`docs/errors.md` is made from this table, by `agentstepper_nb.protocol.schema`.
"""

from __future__ import annotations

from typing import Final

from .runtime_error_codes import RUNTIME_CODES

CODES: Final[dict[str, tuple[str, str]]] = {
    "malformed": (
        "The message isn't JSON, or doesn't have the form of the envelope.",
        "Send one JSON object per message, in the form of the envelope.",
    ),
    "binary_frame": (
        "The message came as a binary frame.",
        "Send text frames.",
    ),
    "unknown_message": (
        "The envelope names a type of message that the receiver doesn't accept.",
        "Check the spelling, and that both sides speak the same version.",
    ),
    "invalid_message": (
        "The envelope is valid, but a field of the message isn't.",
        "Correct the field: the message names it, and what is expected there.",
    ),
    "version_mismatch": (
        "The two sides speak different versions of the protocol.",
        "Upgrade the side that the message names.",
    ),
    "hello_expected": (
        "A message came before the one that opens a connection.",
        "Send hello first in version 2, and PROGRAM_STARTED in version 1.",
    ),
    "already_open": (
        "A second hello came on an open connection, or the hello names a run that exists.",
        "Open one connection per run, or name the run in the envelope of each message "
        "where runs share a connection. Give each run its own id.",
    ),
    "unknown_event": (
        "The halt point names an event that this run doesn't have.",
        "Send the event before its halt points.",
    ),
    "event_ended": (
        "The halt point names an event that has ended, or begins one again.",
        "Send one begin and one end halt point per event.",
    ),
    "event_not_begun": (
        "The halt point ends an event that had no begin halt point.",
        "Send the begin halt point of an event before its end.",
    ),
    "duplicate": (
        "An event, halt point or commit with this id was sent already.",
        "Give each one its own id.",
    ),
    **RUNTIME_CODES,
    "run_ended": (
        "The message belongs to a run that has ended.",
        "Start a new run.",
    ),
    "unknown_command": (
        "The UI sent a command that the Core doesn't have.",
        "Check the spelling, and that both sides speak the same version.",
    ),
    "unknown_run": (
        "No run has this id.",
        "Another UI may have deleted it. Request the list of runs.",
    ),
    "run_is_live": (
        "A run can't be deleted while its agent runs.",
        "Stop the agent, or wait until it ends.",
    ),
    "run_is_over": (
        "The run has ended, so it can't be stepped.",
        "Start the agent again.",
    ),
    "not_pending": (
        "The message to edit isn't waiting at a halt point.",
        "Edit only data of the halt point where the run is halted.",
    ),
    "stale": (
        "Another UI has answered or edited the halt point meanwhile.",
        "Look at the new state and decide again.",
    ),
    "unknown_content": (
        (
            "No message, commit or file of the run has this id; or a content refers to "
            "unknown pieces."
        ),
        "Request the run again; or send the content again on a new connection.",
    ),
    "unknown_stop": (
        "No breakpoint has this id.",
        "Another UI may have deleted it. Request the list of breakpoints.",
    ),
    "invalid_edit": (
        "The edit isn't JSON, doesn't have the form that the agent needs, changes a "
        "read-only value, or is refused by the agent's own types.",
        (
            'Correct the edit: the message says why. A tool call must stay {"Tool": text, '
            '"Argument": any}.'
        ),
    ),
    "cannot_stop": (
        "Agents of version 1 don't support the stop request.",
        "End the agent's process, or move it to the current SDK.",
    ),
    "cannot_approve": (
        "The halt point doesn't ask for an approval.",
        "Use Step to continue from it.",
    ),
    "needs_approval": (
        "The call asks for an approval, and stepping never approves.",
        "Approve the call, or deny it.",
    ),
    "needs_confirmation": (
        "The call to approve is of high risk, and the command doesn't say that the person confirmed it.",
        (
            "Ask the person to confirm by a second gesture, and send `confirmed: true`; or "
            "deny the call."
        ),
    ),
    "cannot_deny": (
        "The halt point has no call to deny, or its agent speaks version 1.",
        "Deny a call before it is made; otherwise edit the data, or step.",
    ),
    "cannot_skip": (
        "The halt point has no call whose result could be supplied, or its agent speaks version 1.",
        "Supply a result before the call is made; at its end edit the result.",
    ),
    "cannot_raise": (
        "The halt point belongs to no call that could fail, or its agent speaks version 1.",
        "Raise at the begin or the end of a query, a tool call or a custom event; otherwise stop the "
        "run.",
    ),
    "cannot_guide": (
        "The halt point begins no LLM query, or its prompt has no place for a message.",
        "Guide at the begin of a query; edit a prompt of another form.",
    ),
    "cannot_stick": (
        "The edit to be made in later prompts too is none of a prompt, or its agent can't do that.",
        "Send the edit without `sticky`.",
    ),
    "inspection_refused": (
        "The stack and the locals of the agent can't be shown, or the expression can't be evaluated.",
        "Do what the message says: it names who refuses, and why.",
    ),
    "cannot_start_again": (
        "The run can't be started again from here, or its agent didn't begin a run.",
        "Do what the message says: it names the reason, and a command or a line of Python.",
    ),
    "cannot_bisect": (
        "The event of the run that decides can't be looked for from here, or no such search goes on.",
        "Do what the message says: it names the reason, and a command or a line of Python.",
    ),
    "cannot_export_test": (
        "The run can't be written as a test from here, or its replay failed.",
        "Do what the message says: it names the reason, and a command where there is one.",
    ),
    "cannot_put_back": (
        "The files that a fork restored in place can't be put back from here.",
        "Do what the message says: it names the reason, and a command where there is one.",
    ),
    "resample_refused": (
        "The halted query can't be asked again, or the agent didn't answer.",
        "Do what the message says: it names who refuses, and why.",
    ),
    "extension_failed": (
        "The extension that provides the command failed.",
        "Report the traceback in the Core's log to the author of the extension.",
    ),
    "damaged_run": (
        "The stored data of this run is damaged.",
        ("Run `agentstepper doctor --data DIR` to see what is damaged and what can be repaired."),
    ),
    "store_failed": (
        "The store can't be written, for example because the disk is full.",
        (
            "Free space, or repair what the message names. Agents wait, and the Core tries "
            "again by itself."
        ),
    ),
    "invalid_stop": (
        "The breakpoint can't be set, for example because its condition isn't valid.",
        ("Correct the condition: the message says where and how. See docs/guide/breakpoints.md."),
    ),
    "invalid_edit_rule": (
        "The edit rule can't be understood, could never match, or there are too many.",
        "Correct the rule: the message says why.",
    ),
    "unknown_edit_rule": (
        "No edit rule has this id.",
        "Another UI may have deleted it. Request the list of edit rules.",
    ),
    "invalid_search": (
        "The search query isn't valid.",
        "Type words, or a phrase in quotes.",
    ),
    "cannot_search": (
        "The search index can't be used now.",
        (
            "The message says why: for example, the index is still being built, or this "
            "Python's SQLite lacks FTS5."
        ),
    ),
    "superseded": (
        ("The same UI sent a newer search, or a newer dry run, before this one was answered."),
        "Use the answer to the newest request.",
    ),
    "unknown_service": (
        "No worker provides the requested service or method.",
        "Check the spelling, and that both sides have the same version.",
    ),
    "worker_failed": (
        "The worker process could not be started.",
        "See the worker's output in the server's log. The next request tries again.",
    ),
    "worker_lost": (
        "The worker process ended, or its connection broke, before it answered.",
        (
            "Send the request again, which restarts the worker. Continue a session by `POST "
            "sessions/ID/resume`."
        ),
    ),
    "too_many": (
        "More sessions or requests are open than the limit.",
        "Close sessions, or wait until some of the requests are answered.",
    ),
    "busy": (
        "The Core has as many background agents' live sessions or open actions as its limits allow.",
        "Try again after `retry_after_s` seconds (`Retry-After` over HTTP), or raise the limit: "
        "--max-sessions, --max-actions.",
    ),
    "outside_roots": (
        "This server doesn't allow the coding agent to work in the workspace.",
        ("Choose a folder below the server's root_dir, or add the folder to `coding_roots`."),
    ),
    "needs_control_token": (
        ("The request asks for a coding session without a sandbox, and has no control token."),
        "Send the control token of the data folder in the header "
        "`X-AgentStepper-Control-Token`; or set the mode for all sessions by "
        "`coding_defaults` in the server's config.",
    ),
    "outside_limits": (
        "A setting of a coding session exceeds this server's limit for requests.",
        "Leave the setting out, or stay within the limit that the message names. The "
        "limits are `coding_limits` in the server's config.",
    ),
    "unknown_session": (
        "No open or stored session of the coding agent has this id; or no background "
        "agent has such a session.",
        "Open a stored session by `POST coding/sessions/ID/resume`. List sessions by "
        "`GET coding/sessions`, and those of an agent by `GET agents/ID/sessions`.",
    ),
    "session_open": (
        "The session to resume is open.",
        "Use the open session, or DELETE it first; its log stays.",
    ),
    "session_failed": (
        "The session could not be opened.",
        "The message says why: for example, there is no such provider, or no key for it.",
    ),
    "session_busy": (
        "The session is answering a message.",
        "Wait for `completed`, or `POST sessions/ID/cancel`.",
    ),
    "stream_taken": (
        "Another client reads this session's events, and a session has only one stream.",
        "After a lost connection, send Last-Event-ID to take over the old stream.",
    ),
    "unknown_call": (
        "No call with this id waits for an approval in this session.",
        "Use the `callId` of `approval_required`.",
    ),
    "auto_chat_refused": (
        "AutoChat may not continue here: outside of STATE_STOP, past its limit, after a "
        "confirmation or an error, or with nothing to continue.",
        "Send a message yourself, which resets AutoChat's count.",
    ),
    "not_waiting": (
        (
            "The message isn't a confirmation that waits for a choice, or this isn't one of "
            "its choices."
        ),
        "See in the conversation whether somebody else has chosen, or the turn has ended.",
    ),
    "may_not_hand_on": (
        (
            "An agent delegated a message although its role doesn't allow it, to an agent "
            "that doesn't exist, or in a circle."
        ),
        "Give the agent the role SUPERVISOR or CREW, and name an agent of the session.",
    ),
    "not_allowed": (
        "The file is outside of the chat's allowed paths, or has a type that isn't shown.",
        "Add the file's folder to `allowed_paths`, if you trust its files.",
    ),
    "invalid_token": (
        (
            "The chat token isn't valid, belongs to another session or installation, has "
            "expired, or was revoked."
        ),
        "Create a new token where the chat runs: `chat.issue_token()`.",
    ),
    "out_of_scope": (
        "The chat token doesn't allow this request.",
        "Create a token with that scope: `chat.issue_token(scope=…)`.",
    ),
    "unknown_turn": (
        "The turn no longer waits for an answer, or belongs to another agent.",
        "Wait for the next message.",
    ),
    "watch_only": (
        "This login may watch, but not control; or the agent token was sent where the "
        "control token is needed.",
        "Ask whoever runs the server for the right to execute; for a program, set "
        "AGENTSTEPPER_CONTROL_TOKEN.",
    ),
    "corrupt_import": (
        "The file is neither a .run file nor an archive, or it is damaged.",
        "Export it again.",
    ),
    "newer_import": (
        "The file was written by a newer AgentStepper.",
        "Upgrade this AgentStepper.",
    ),
    "too_large": (
        "A message or an unpacked file exceeds the limit.",
        "Shorten it: the limit is 64 MiB for a message, and 256 MiB for an unpacked file "
        "of a run. A file may also nest too deeply or have too many values: the message "
        "says which.",
    ),
    "unauthorized": (
        "The token is missing or wrong.",
        (
            "Send the token of the Core's data folder, which its runtime file names, or set "
            "AGENTSTEPPER_TOKEN."
        ),
    ),
    "foreign_origin": (
        "A web page of another site sent the request.",
        "Open the UI from the same server, or name its origin with --ui-origin.",
    ),
    "internal": (
        "The Core failed at this message.",
        "Report the failure with the traceback in the Core's log.",
    ),
}


def render_error_page() -> str:
    """A page of Markdown with a section for each code, whose anchor is the code: `errors.md#stale`."""
    sections = (
        f"\n## `{code}`\n\n{means}\n\n**What to do:** {to_do}\n"
        for code, (means, to_do) in CODES.items()
    )
    return _HEAD + "".join(sections)


_HEAD: Final = """\
# Errors

<!-- Made by `python -m agentstepper_nb.protocol.schema` from `protocol/error_codes.py`. -->

Every error that the Core sends has a `code`, for programs, and a `message`, for people: what is wrong
and what to do. The Core ignores the refused message, and the sender's connection and run continue. The
Core ends a connection in five cases only. It closes with 1009 where a message is too large; with 1003
where a message names a piece of a content that the connection doesn't have, since nothing after it could
be understood; and with 1011 where an agent of version 1 may be waiting for an answer, with the code and
the message as the reason, since such a client reads only answers. It refuses a handshake without the
right token, and one from a foreign web page.

| To | Form |
|---|---|
| UI, version 2 | `{"n", "type": "error", "id", "body": {"code", "message", "run"}}` |
| agent, version 2 | `{"n", "type": "error", "body": {"code", "message", "n"}}` |
| UI, version 1 | `{"event": "error", "content": {"code", "message", "run"}}` |
| agent, version 1 | `{"message": "error", "data": {"code", "message"}}` |
| refused handshake | an HTTP status and a line of text that begins with the code |

In version 2 an error names its message: `id` is the command's, the inner `n` is the number of the
agent's message. An agent of version 1 gets an error only while it waits for nothing, and only for what
the original's client never sends. Errors that are raised in Python, the view's messages and the
doctor's findings are in [troubleshooting](guide/troubleshooting.md).
"""
