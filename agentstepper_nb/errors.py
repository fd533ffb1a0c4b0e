"""Every error of the package, in one tree.

::

    AgentStepperError
    ├── ProtocolError (ValueError)        the other side sent something the protocol forbids
    ├── CommandError                      a well-formed command that can't be executed now
    │   ├── StaleError                    the command names something that has changed meanwhile
    │   └── NeedsApprovalError            a step from a call that needs an approval
    ├── NotJSONError (TypeError)          a value that JSON can't encode, with its path
    ├── ConnectionLostError (ConnectionError)
    ├── DiscoveryError (ConnectionError) no Core, or several without a choice
    ├── ToolDeniedError                   the person denied a call
    ├── InjectedError (RuntimeError)      the person made a call fail
    ├── RecordedError (RuntimeError)      a recorded call's exception, of a class unknown here
    ├── WorkspaceError (OSError)          the workspace can't be tracked
    ├── UnsafePathError (PermissionError) a path that the coding agent may not access
    ├── PolicyRulesError (OSError)        the coding agent's policy rules can't be used
    ├── SandboxError (RuntimeError)       a command can't be confined as requested
    ├── ModelError (RuntimeError)         a model gave no answer
    ├── StepFrameError (ValueError)       a step's input or output isn't a step frame
    ├── CodingSessionError (RuntimeError) a coding session can't be opened
    └── StoreError (OSError)              the folder that stores the runs can't be used
        ├── StoreLockedError              another Core has locked the folder
        ├── NewerStoreError               a newer program wrote the store
        └── DamagedRunError               a stored run is damaged
    BaseException
    ├── AgentStopped                      the person pressed Stop; ends the agent
    └── Divergence                        a replayed agent differs from its recording

`ProtocolError` and `CommandError` carry a `code` of `agentstepper_nb.protocol.error_codes`, which says
what each means and what to do, and a note for tracebacks that names the code's place in docs/errors.md.
"""

from __future__ import annotations


class AgentStepperError(Exception):
    """The base class of every `Exception` that this package raises."""


def _format_reference(code: str) -> str:
    """The note of a coded error, which a traceback shows below the message."""
    return f"docs/errors.md#{code} says what to do."


class ProtocolError(AgentStepperError, ValueError):
    """A message breaks the protocol; the sender is at fault.

    Args:
        code: One of the codes of `agentstepper_nb.protocol.error_codes`.
        message: What is wrong and what to do, for a person.
        field: The path of the wrong field in the message, as `payload.moniker`; None: not known.
    """

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.add_note(_format_reference(code))
        self.code = code
        self.message = message
        self.field = field


class CommandError(AgentStepperError):
    """A command is well formed, but can't be executed now.

    Args:
        code: One of the codes of `agentstepper_nb.protocol.error_codes`.
        message: What is wrong and what to do, for a person.
        run: The id of the run that the command named; None: the command named no run.
        field: The path of the field at fault, as `conversation_id`; None: not known.
        retry_after_s: Seconds after which the command may be sent again; None: not known.
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
    """A command names a halt point or a revision that is no longer the current one.

    Args:
        message: What changed meanwhile.
        run: The id of the run.
        halt_point: The id of the halt point that the command named.
    """

    def __init__(self, message: str, run: str, halt_point: str) -> None:
        super().__init__("stale", message, run)
        self.halt_point = halt_point


class NeedsApprovalError(CommandError):
    """A step was refused because the call asks for an approval: a step never approves.

    Args:
        call: The call, in one line.
        run: The id of the run.
        halt_point: The id of the halt point that asks for the approval.
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
    """A value can't be written as JSON.

    Args:
        path: The path to the value, as `$.messages[2].content`.
        reason: The kind of value that stands at the path.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path} is {reason}, which JSON can't carry. "
            "Pass to_json= to AgentStepper to convert such values."
        )
        self.path = path
        self.reason = reason


class ConnectionLostError(AgentStepperError, ConnectionError):
    """The connection to the Core is lost, and with it every pending halt point."""


class DiscoveryError(AgentStepperError, ConnectionError):
    """No Core was found, or several Cores were found and none was named."""


class ToolDeniedError(AgentStepperError):
    """The person denied this call; the agent may read the reason.

    The class is neither an `OSError` nor a `RuntimeError`. Agents retry an `OSError`, because the
    next try may succeed; a denied call must not be retried.

    Args:
        message: The text that the agent reads.
        reason: The reason that the person gave; "": the person gave none. None: the message is the
            reason.
    """

    def __init__(self, message: str = "", reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = message if reason is None else reason


class InjectedError(AgentStepperError, RuntimeError):
    """The person made this call fail, to see how the agent handles the failure."""


class WorkspaceError(AgentStepperError, OSError):
    """The changes of the agent's workspace can't be tracked."""


class UnsafePathError(AgentStepperError, PermissionError):
    """The coding agent may not read or write this path.

    Args:
        path: The path, as the agent wrote it.
        reason: What is wrong with the path.
    """

    def __init__(self, path: str, reason: str) -> None:
        shown = path if len(path) <= 200 else f"{path[:200]}…"
        super().__init__(f"The path {shown!r} is refused: {reason}.")
        self.path = path
        self.reason = reason


class PolicyRulesError(AgentStepperError, OSError):
    """The coding agent's policy rules can't be read or written; the message says why."""


class SandboxError(AgentStepperError, RuntimeError):
    """No sandbox is available, or it can't confine the command; the message says why."""


class ModelError(AgentStepperError, RuntimeError):
    """A model gave no usable answer.

    Args:
        kind: The kind of failure: `timeout`, `unreachable`, `refused`, `overloaded`, `invalid`,
            `cut` or `empty`.
        message: What went wrong, for a person.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StepFrameError(AgentStepperError, ValueError):
    """The input or the output of a background agent's step is not a valid step frame.

    Args:
        message: What is wrong, for a person.
        edited: Whether a person's edit made the frame invalid. Then another try can't succeed.
    """

    def __init__(self, message: str, *, edited: bool = False) -> None:
        super().__init__(message)
        self.edited = edited


class CodingSessionError(AgentStepperError, RuntimeError):
    """A coding session can't be opened; the message says why and what to do."""


class StoreError(AgentStepperError, OSError):
    """The folder that stores the runs can't be used; the message says why and what to do."""


class StoreLockedError(StoreError):
    """Another Core uses this folder: a folder belongs to one Core at a time.

    Args:
        folder: The folder.
        holder: A description of the program that uses the folder.
    """

    def __init__(self, folder: str, holder: str) -> None:
        super().__init__(
            f"The runs in {folder} belong to {holder}, which is running. Stop it, or choose another "
            "folder with --data."
        )
        self.folder = folder
        self.holder = holder


class NewerStoreError(StoreError):
    """A newer version of agentstepper_nb wrote this folder's store."""


class DamagedRunError(StoreError):
    """Some of a run's stored data is damaged.

    Args:
        run: The id of the run.
        damage: A description of the damage.
    """

    def __init__(self, run: str, damage: str) -> None:
        super().__init__(
            f"The stored data of run {run} is damaged: {damage}. Run `agentstepper doctor "
            "--data DIR` to see what can be repaired."
        )
        self.run = run
        self.damage = damage


class RecordedError(AgentStepperError, RuntimeError):
    """A recorded call failed with an exception whose class can't be found in this process."""


class Divergence(BaseException):
    """A replayed agent does something else than its recording has.

    Derived from `BaseException`, so that an agent's `except Exception` doesn't catch it.

    Args:
        message: What differs, for a person.
        expected: The id of the recorded event that was expected; None: the recording has ended.
        diff: A unified diff of the expected and the actual request; "": no event was expected.
        volatile: Patterns that make the two requests equal, when passed as `volatile=`.
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
    """The person pressed Stop; the exception ends the agent.

    Derived from `BaseException`, so that an agent's `except Exception` doesn't catch it.
    """

    def _render_traceback_(self) -> list[str]:
        """Return the text under the notebook's cell, which IPython shows in place of a traceback."""
        return ["Stopped by you."]
