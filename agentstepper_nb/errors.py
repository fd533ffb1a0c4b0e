"""Every error of the package, in one tree.

::

    AgentStepperError
    ├── ProtocolError (ValueError)        the other side sent something the protocol forbids
    ├── CommandError                      a well-formed command that can't be carried out now
    │   ├── StaleError                    it names something that has changed meanwhile
    │   └── NeedsApprovalError            it goes on from a call that only an approval lets happen
    ├── NotJSONError (TypeError)          a value that JSON can't carry, with its path
    ├── ConnectionLostError (ConnectionError)
    ├── DiscoveryError (ConnectionError) no Core, or several, and nothing says which
    ├── ToolDeniedError                   the person denied a call
    ├── InjectedError (RuntimeError)      the person made a call fail
    ├── RecordedError (RuntimeError)      a recorded call failed by an exception unknown here
    ├── WorkspaceError (OSError)          the workspace can't be tracked
    ├── UnsafePathError (PermissionError) a path that the coding agent may not touch
    ├── PolicyRulesError (OSError)        the rules of what the coding agent may do can't be used
    ├── SandboxError (RuntimeError)       a command can't be confined as it was asked
    ├── ModelError (RuntimeError)         a model gave no answer
    ├── StepFrameError (ValueError)       what a step was given, or gave, is no frame
    ├── CodingSessionError (RuntimeError) a coding session can't be opened
    └── StoreError (OSError)              the folder that keeps the runs can't be used
        ├── StoreLockedError              another Core has it
        ├── NewerStoreError               a newer program wrote it
        └── DamagedRunError               what it keeps of one run is hurt
    BaseException
    ├── AgentStopped                      the person pressed Stop; ends the agent
    └── Divergence                        a replayed agent does other than it was recorded to do

`ProtocolError` and `CommandError` carry a `code` of `agentstepper_nb.protocol.error_codes`, which says
what each means and what to do, and a note for tracebacks that names the code's place in docs/errors.md.
"""

from __future__ import annotations


class AgentStepperError(Exception):
    """The root of every error this package raises."""


def _format_reference(code: str) -> str:
    """The note of a coded error, which a traceback shows below the message."""
    return f"docs/errors.md#{code} says what to do."


class ProtocolError(AgentStepperError, ValueError):
    """A message that the protocol forbids: the sender's fault.

    Args:
        code: A word of `agentstepper_nb.protocol.error_codes`.
        message: What is wrong and what to do, for a person.
        field: What of the message it is about, as `payload.moniker`, where that is known.
    """

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.add_note(_format_reference(code))
        self.code = code
        self.message = message
        self.field = field


class CommandError(AgentStepperError):
    """A command that can't be carried out now, though its form is right.

    Args:
        code: A word of `agentstepper_nb.protocol.error_codes`.
        message: What is wrong and what to do, for a person.
        run: The run it was about, where one was named.
        field: What of the command it is about, as `conversation_id`, where that is known.
        retry_after_s: Seconds after which the command may be sent again, where that is known.
    """

    def __init__(
        self,
        code: str,
        message: str,
        run: str | None = None,
        field: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.add_note(_format_reference(code))
        self.code = code
        self.message = message
        self.run = run
        self.field = field
        self.retry_after_s = retry_after_s


class StaleError(CommandError):
    """A command that names a halt point or revision which is no longer the current one.

    Args:
        message: What changed meanwhile.
        run: The run it was about.
        halt_point: The halt point it named.
    """

    def __init__(self, message: str, run: str, halt_point: str) -> None:
        super().__init__("stale", message, run)
        self.halt_point = halt_point


class NeedsApprovalError(CommandError):
    """A step at a call that asks for an approval: to step is never to approve.

    Args:
        call: The call, in a line.
        run: The run.
        halt_point: The halt point that asks.
    """

    def __init__(self, call: str, run: str, halt_point: str) -> None:
        super().__init__(
            "needs_approval",
            f"The step was refused: the call {call} asks for approval. Stepping never approves: "
            "approve the call, or deny it.",
            run,
        )
        self.call = call
        self.halt_point = halt_point


class NotJSONError(AgentStepperError, TypeError):
    """A value that JSON can't carry.

    Args:
        path: Where in the value, as `$.messages[2].content`.
        reason: What stands there.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path} is {reason}, which JSON can't carry. "
            "Pass to_json= to AgentStepper to convert such values."
        )
        self.path = path
        self.reason = reason


class ConnectionLostError(AgentStepperError, ConnectionError):
    """The connection to the Core is gone, and with it every halt point that waited."""


class DiscoveryError(AgentStepperError, ConnectionError):
    """No Core was found, or several and nothing says which is meant."""


class ToolDeniedError(AgentStepperError):
    """The person denied this call, with a reason the agent may read.

    No `OSError` and no `RuntimeError`: an agent's `except OSError: retry` is for what may go better the
    next time, and a person's No isn't.

    Args:
        message: What the agent reads.
        reason: What the person said; empty: nothing. None: the message is the reason.
    """

    def __init__(self, message: str = "", reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = message if reason is None else reason


class InjectedError(AgentStepperError, RuntimeError):
    """The person chose to let this call fail, to see what the agent makes of it."""


class WorkspaceError(AgentStepperError, OSError):
    """The agent's workspace can't be tracked."""


class UnsafePathError(AgentStepperError, PermissionError):
    """A path that the coding agent may not touch.

    Args:
        path: The path, as the agent wrote it.
        reason: What is wrong with it.
    """

    def __init__(self, path: str, reason: str) -> None:
        shown = path if len(path) <= 200 else f"{path[:200]}…"
        super().__init__(f"The path {shown!r} is refused: {reason}.")
        self.path = path
        self.reason = reason


class PolicyRulesError(AgentStepperError, OSError):
    """The rules of what the coding agent may do can't be read or written; the text says why."""


class SandboxError(AgentStepperError, RuntimeError):
    """A sandbox can't be had here, or can't confine a command as it was asked; the text says why."""


class ModelError(AgentStepperError, RuntimeError):
    """A model gave no answer that can be used.

    Args:
        kind: Why, in a word that is the same for all of a kind: `timeout`, `unreachable`, `refused`,
            `overloaded`, `invalid`, `cut` or `empty`.
        message: What went wrong, for a person.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StepFrameError(AgentStepperError, ValueError):
    """What a step of a session was given, or gave, is no frame.

    Args:
        message: What is wrong, for a person.
        edited: Whether a person's edit is: trying again is of no use.
    """

    def __init__(self, message: str, *, edited: bool = False) -> None:
        super().__init__(message)
        self.edited = edited


class CodingSessionError(AgentStepperError, RuntimeError):
    """A session of the coding agent can't be opened; the text says why and what to do."""


class StoreError(AgentStepperError, OSError):
    """The folder that keeps the runs can't be used; the text says why and what to do."""


class StoreLockedError(StoreError):
    """Another Core has this folder: a store has one owner.

    Args:
        folder: The folder.
        holder: Who has it, in words.
    """

    def __init__(self, folder: str, holder: str) -> None:
        super().__init__(
            f"The runs in {folder} belong to {holder}, which is running. Stop it, or choose another "
            "folder with --data."
        )
        self.folder = folder
        self.holder = holder


class NewerStoreError(StoreError):
    """A newer agentstepper_nb wrote this folder's store."""


class DamagedRunError(StoreError):
    """Some of what the store keeps of a run is damaged.

    Args:
        run: The run.
        damage: What is hurt, in words.
    """

    def __init__(self, run: str, damage: str) -> None:
        super().__init__(
            f"The stored data of run {run} is damaged: {damage}. Run `agentstepper doctor "
            "--data DIR` to see what can be repaired."
        )
        self.run = run
        self.damage = damage


class RecordedError(AgentStepperError, RuntimeError):
    """A recorded call failed by an exception whose class this process doesn't have."""


class Divergence(BaseException):
    """A replayed agent does something else than it was recorded to do.

    A `BaseException`, so that an agent's `except Exception` doesn't swallow it.

    Args:
        message: What differs, for a person.
        expected: The id of the recorded event that was expected; None: the recording has ended.
        diff: The expected and the actual request as a unified diff; "" where none was expected.
        volatile: Patterns with which, as `volatile=`, the two requests would be the same.
    """

    def __init__(
        self,
        message: str,
        expected: str | None = None,
        diff: str = "",
        volatile: tuple[str, ...] = (),
    ) -> None:
        super().__init__(f"{message}\n{diff}" if diff else message)
        self.message = message
        self.expected = expected
        self.diff = diff
        self.volatile = volatile


class AgentStopped(BaseException):
    """The person pressed Stop.

    A `BaseException`, so that an agent's `except Exception` doesn't swallow it.
    """

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows under the cell: IPython asks for it in place of a traceback."""
        return ["Stopped by you."]
