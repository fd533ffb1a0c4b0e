"""The codes of every error that travels, with what each means and what to do.

`docs/errors.md` is made from this table, by `agentstepper_nb.protocol.schema`.
"""

from __future__ import annotations

from typing import Final

CODES: Final[dict[str, tuple[str, str]]] = {
    "malformed": (
        "The message isn't JSON of the envelope's form.",
        "Send one JSON object a message, as the envelope asks.",
    ),
    "binary_frame": (
        "The message came as a binary frame.",
        "Send text frames.",
    ),
    "unknown_message": (
        "The envelope names a kind of message that this side doesn't take.",
        "Check the spelling, and that both sides speak the same version.",
    ),
    "invalid_message": (
        "The envelope is right, a field of the message isn't.",
        "The text names the field and what was expected there.",
    ),
    "version_mismatch": (
        "The other side speaks a version that this one doesn't.",
        "Upgrade the side that the text names.",
    ),
    "hello_expected": (
        "Something came before the first message that opens a connection.",
        "Version 2 opens with hello, version 1 with PROGRAM_STARTED.",
    ),
    "already_open": (
        "A second hello came on an open connection, or it names a run that exists.",
        "Open one connection a run, or name the run in the envelope of all its messages where the "
        "connection is shared; and give each run an id of its own.",
    ),
    "unknown_event": (
        "The halt point names an event that this run doesn't have.",
        "Send the event before its halt points.",
    ),
    "event_ended": (
        "The halt point names an event that has ended, or begins one again.",
        "Send one begin and one end halt point an event.",
    ),
    "event_not_begun": (
        "The halt point ends an event whose begin halt point didn't come.",
        "Send the begin halt point of an event before its end.",
    ),
    "duplicate": (
        "An event, halt point or commit with this id was sent before.",
        "Give each an id of its own.",
    ),
    "stale_epoch": (
        "Another worker has the session by now: what this one wrote of it was refused.",
        "Nothing: the session goes on there.",
    ),
    "stale_claim": (
        "The action was claimed by another dispatcher after this one's lease was over.",
        "Nothing: it is done there.",
    ),
    "duplicate_step": (
        "Another step stands at this iteration and number of the session.",
        "Go on from the snapshot that is kept.",
    ),
    "unknown_action": (
        "No action has this id.",
        "List them: GET actions.",
    ),
    "unknown_agent": (
        "No session of this agent is known.",
        "Create one, or check the spelling.",
    ),
    "unknown_conversation": (
        "No conversation has this id.",
        "List them: GET conversations.",
    ),
    "unknown_participant": (
        "No participant of this conversation has this id.",
        "List them: GET conversations/ID/participants.",
    ),
    "unknown_message_id": (
        "No message of this conversation has this id.",
        "Read from its beginning: leave `after` out.",
    ),
    "unknown_topic": (
        "There is no such topic to watch.",
        "Watch session:ID, conversation:ID, sessions or conversations.",
    ),
    "session_over": (
        "The session has ended: it takes no more actions.",
        "Create another session.",
    ),
    "conversation_closed": (
        "The conversation is closed.",
        "Open it again, or begin another.",
    ),
    "may_not_post": (
        "An observer doesn't post.",
        "Join as a member.",
    ),
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
        "It may have been deleted by another UI; ask for the list of runs.",
    ),
    "run_is_live": (
        "A run can't be deleted while its agent runs.",
        "Stop the agent, or wait for its end.",
    ),
    "run_is_over": (
        "The run has ended, so that there is nothing to step.",
        "Start the agent again.",
    ),
    "not_pending": (
        "The message to edit isn't waiting at a halt point.",
        "Only the message that a run is halted at can be edited.",
    ),
    "stale": (
        "Another UI was faster: the halt point was answered or edited meanwhile.",
        "Look at the new state and decide again.",
    ),
    "unknown_content": (
        "No message, commit or file of the run has this id; or a content is made of unknown pieces.",
        "Ask for the run again; send the content again on a new connection.",
    ),
    "unknown_stop": (
        "No breakpoint has this id.",
        "It may have been deleted by another UI; ask for the list of breakpoints.",
    ),
    "invalid_edit": (
        "The edit isn't JSON, not of the form that the agent needs, changes what is read-only, or the "
        "agent's own types refuse it.",
        'The text says why. A tool call must stay {"Tool": text, "Argument": any}.',
    ),
    "cannot_stop": (
        "Agents of version 1 have no way to be told to stop.",
        "End the agent's process, or move it to the current SDK.",
    ),
    "cannot_approve": (
        "The halt point doesn't ask for an approval.",
        "Step goes on from it.",
    ),
    "needs_approval": (
        "The call to step from asks for an approval, and stepping never approves.",
        "Approve the call, or deny it.",
    ),
    "needs_confirmation": (
        "The call to approve is of high risk, and the command doesn't say that the person confirmed it.",
        "Ask the person once more, by another gesture, and send `confirmed: true`; or deny the call.",
    ),
    "cannot_deny": (
        "There is no call to deny at this halt point, or its agent speaks version 1.",
        "Deny a call before it is made; otherwise edit what stands there, or step.",
    ),
    "extension_failed": (
        "The UI's command belongs to an extension, and that failed.",
        "The Core's log has the traceback: tell whoever wrote the extension.",
    ),
    "damaged_run": (
        "Some of what the store keeps of this run is damaged.",
        "Run `agentstepper doctor --data DIR`: it says what is hurt and what can be repaired.",
    ),
    "store_failed": (
        "The store can't be written: the disk is full, say, or gone.",
        "Free space, or mend what the text names: the Core tries again by itself, and agents wait.",
    ),
    "invalid_stop": (
        "The breakpoint can't be set: its condition can't be read, say.",
        "The text says where, and what can stand there; docs/guide/breakpoints.md has the whole.",
    ),
    "invalid_search": (
        "The words to look for can't be read.",
        "Type words, or a phrase in quotes.",
    ),
    "cannot_search": (
        "The search index can't be used now.",
        "The text says why: it is still being made, say, or this Python's SQLite lacks FTS5.",
    ),
    "superseded": (
        "The same UI looked for other rows, or tried another breakpoint, before the answer was there.",
        "Take the answer to the last question.",
    ),
    "unknown_service": (
        "No worker serves what is asked for, or not by this name.",
        "Check the spelling, and that both sides have the same version.",
    ),
    "worker_failed": (
        "The worker process could not be started.",
        "The server's log has what it said; the next request tries again.",
    ),
    "worker_lost": (
        "The worker process ended, or its connection broke, before it had answered.",
        "Ask again: the worker is started again. A session goes on by `POST sessions/ID/resume`.",
    ),
    "too_many": (
        "More is open at once than is taken.",
        "Close sessions, or wait until some of the requests are answered.",
    ),
    "outside_roots": (
        "The workspace is none of the folders that this server lets the coding agent into.",
        "Choose one below the server's root_dir, or name its folder in `coding_roots`.",
    ),
    "needs_control_token": (
        "A request asks for a coding session that no sandbox confines, without the control token.",
        "Send the control token, which the data folder keeps, in the header "
        "`X-AgentStepper-Control-Token`; or set it for all by `coding_defaults` in the server's config.",
    ),
    "outside_limits": (
        "A setting of a coding session goes beyond what this server lets a request set.",
        "Leave the setting out, or stay within the limit that the message names, which is one of "
        "`coding_limits` in the server's config.",
    ),
    "unknown_session": (
        "No open session of the coding agent has this id, or none was ever kept under it; or no agent "
        "that runs on its own has such a session.",
        "`POST coding/sessions/ID/resume` opens one that was kept, and `GET coding/sessions` lists "
        "both; `GET agents/ID/sessions` lists an agent's.",
    ),
    "session_open": (
        "The session to resume is open.",
        "Use it as it is, or DELETE it first: its log stays.",
    ),
    "session_failed": (
        "The session could not be opened.",
        "The text says why: no such provider, say, or no key for it.",
    ),
    "session_busy": (
        "The session is answering a message.",
        "Wait for `completed`, or `POST sessions/ID/cancel`.",
    ),
    "stream_taken": (
        "Somebody reads this session's events: there is one stream a session.",
        "Who was cut off sends Last-Event-ID, and takes the old stream over.",
    ),
    "unknown_call": (
        "No call of this session waits for an approval under this id.",
        "Take the `callId` of `approval_required`.",
    ),
    "auto_chat_refused": (
        "AutoChat was asked to go on where it may not: outside of STATE_STOP, past its bound, after a "
        "confirmation or an error, or with nothing to continue.",
        "Say something yourself: that begins its count anew.",
    ),
    "not_waiting": (
        "The message is no confirmation that waits for a choice, or this is none of its choices.",
        "Somebody else may have chosen, or its turn has ended: the conversation shows which.",
    ),
    "may_not_hand_on": (
        "An agent handed a message on whose role doesn't let it, to one that isn't there, or in a ring.",
        "Give it the role SUPERVISOR or CREW, and name an agent of the session.",
    ),
    "not_allowed": (
        "The file lies outside of the chat's allowed paths, or isn't of a kind that is shown.",
        "Add its folder to `allowed_paths`, where you trust what lies there.",
    ),
    "invalid_token": (
        "The chat token is no token, of another session or installation, expired, or revoked.",
        "Ask for a new one where the chat runs: `chat.token()`.",
    ),
    "out_of_scope": (
        "The chat token doesn't cover what was asked.",
        "Ask for one with that scope: `chat.token(scope=…)`.",
    ),
    "unknown_turn": (
        "No answer is wanted for this turn any more, or it isn't this agent's.",
        "Wait for the next message.",
    ),
    "watch_only": (
        "This login may watch, not control; or the agents' token came where it takes the control "
        "token.",
        "Ask whoever runs the server for the right to execute; for a program set "
        "AGENTSTEPPER_CONTROL_TOKEN.",
    ),
    "corrupt_import": (
        "The file is neither a .run file nor an archive, or it is damaged.",
        "Export it again.",
    ),
    "newer_import": (
        "The file was written by a newer AgentStepper.",
        "Upgrade this one.",
    ),
    "too_large": (
        "A message or an unpacked file passes the limit.",
        "The limit is 64 MiB a message, and 256 MiB an unpacked file of a run; such a file may also "
        "nest too deeply or have too many values: the message says which.",
    ),
    "unauthorized": (
        "The token is missing or wrong.",
        "Use the token of the Core's data folder, which its runtime file names, or AGENTSTEPPER_TOKEN.",
    ),
    "foreign_origin": (
        "A web page of another site called.",
        "Open the UI from the same server, or name its origin with --ui-origin.",
    ),
    "internal": (
        "The Core failed; its log has the traceback.",
        "Please report it with that traceback.",
    ),
}


def render_error_page() -> str:
    """The table as a page for people, in Markdown."""
    rows = (f"| `{code}` | {means} | {to_do} |\n" for code, (means, to_do) in CODES.items())
    return _HEAD + "".join(rows)


_HEAD: Final = """\
# Errors

<!-- Made by `python -m agentstepper_nb.protocol.schema` from `protocol/error_codes.py`. -->

Every error that the Core sends has a `code`, for programs, and a `message`, for people: what is wrong
and what to do. The refused message has changed nothing, and its sender's connection and run go on.
Only five kinds of caller are let go: who sends too large a message is closed with 1009, and who names a
piece of a content that this connection doesn't know with 1003, since nothing that follows could be
understood; a handshake without the right token or from a foreign web page is refused; and an agent of
version 1 whose client may be waiting for an answer is closed with 1011, the code and the message as its
reason, since that client reads nothing but answers.

| To | Form |
|---|---|
| UI, version 2 | `{"n", "type": "error", "id", "body": {"code", "message", "run"}}` |
| agent, version 2 | `{"n", "type": "error", "body": {"code", "message", "n"}}` |
| UI, version 1 | `{"event": "error", "content": {"code", "message", "run"}}` |
| agent, version 1 | `{"message": "error", "data": {"code", "message"}}` |
| refused handshake | an HTTP status and a line of text that begins with the code |

Version 2 tells which message is meant: `id` is the command's, the inner `n` is the number of the agent's
message. An agent of version 1 gets an error only while it waits for nothing, and only for what the
original's client never sends.

| Code | What it means | What to do |
|---|---|---|
"""
