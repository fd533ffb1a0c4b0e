"""The agent's queries to the model, which a person can edit in the debugger."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from ..errors import ModelError
from ..llm_wire.answer_builder import AnswerBuilder, CallIds, ModelAnswer
from ..llm_wire.conversation import AssistantMessage, ModelRequest
from ..llm_wire.debugger_json import decode_answer, decode_request, encode_answer, encode_request
from ..llm_wire.events import ToolCallReady, TraceEvent
from ..models.provider import stream_events
from ..protocol.coding_api import SandboxReport
from .sandbox import SandboxMode
from .session_log import EDITED_KIND
from .transcript import Transcript, find_conversation_problem
from .workspace import LocalWorkspace

if TYPE_CHECKING:
    from ..models.provider import ModelProvider
    from ..sdk.async_stepper import AsyncAgentStepper


#: The file of the workspace with instructions for agents.
INSTRUCTIONS_FILE: Final = "AGENTS.md"
#: Characters of it that the model is given.
_MAX_INSTRUCTIONS_CHARS: Final = 16_000

_ROLE: Final = """\
You are a careful programmer who works on a small repository with the tools you are given.
- Look before you change: read what you edit, and run the tests before and after where there are any.
- Change as little as the task needs, in the style of the code around it.
- All paths are relative to the repository's root. Nothing outside it can be touched.
- A tool that fails tells you why. What a person denied stays denied: find another way, or ask.
- When you are done, say in a few sentences what you changed and how you know that it works. If it \
doesn't, say so.\
"""


_READ_ONLY: Final = (
    "- This session is read-only: nothing in the repository can be changed. "
    "Say what you would change."
)
_SANDBOX: Final = (
    "- Commands run in a sandbox: they see the repository and the system's programs, and have a home "
    "and a temporary folder (`$TMPDIR`) of their own. Other folders and other processes are absent."
)
_LANDLOCK: Final = (
    "- For commands `.git` is read-only, and they make no new names in the repository's top folder. "
    "Make files there with `write_file` first, and commit with `git_commit`."
)
_GIT: Final = "- For commands the hooks and the settings in `.git` are read-only."
_NO_SANDBOX: Final = (
    "- Nothing holds what commands do: touch nothing outside of the repository, and no other "
    "processes."
)
_NO_NETWORK: Final = "- Commands have no network unless a person grants it."


def make_system_prompt(workspace: LocalWorkspace, report: SandboxReport | None = None) -> str:
    """The system prompt for a workspace, with the notes for agents that lie in it.

    The same files and the same sandbox give the same prompt: it has no date and no path.

    Args:
        workspace: Where the agent works.
        report: What holds the session's commands; None: it has none.
    """
    role = _ROLE if report is None else "\n".join([_ROLE, *_limits(report)])
    notes = _notes(workspace)
    return f"{role}\n\nFrom the repository's {INSTRUCTIONS_FILE}:\n\n{notes}" if notes else role


def _limits(report: SandboxReport) -> list[str]:
    """What the model is told of its sandbox."""
    lines = [_READ_ONLY] if report.mode == SandboxMode.READ_ONLY else []
    if report.name == "none":
        return [*lines, _NO_SANDBOX]
    lines += [_SANDBOX, _LANDLOCK if report.name == "landlock" else _GIT]
    return lines if report.network else [*lines, _NO_NETWORK]


def _notes(workspace: LocalWorkspace) -> str:
    try:
        return workspace.read_text(INSTRUCTIONS_FILE)[:_MAX_INSTRUCTIONS_CHARS].strip()
    except (OSError, UnicodeError):  # most repositories have none
        return ""


class ModelQueries:
    """Asks a provider.

    Args:
        provider: Whom to ask.
        transcript: Whom to tell.
        dbg: The debugger that sees each query; None for none.
        idle_timeout_s: Seconds that the model may let pass between two events; None is without end.
    """

    def __init__(
        self,
        provider: ModelProvider,
        transcript: Transcript,
        dbg: AsyncAgentStepper | None,
        idle_timeout_s: float | None,
    ) -> None:
        self._provider = provider
        self._transcript = transcript
        self._dbg = dbg
        self._idle_timeout_s = idle_timeout_s

    async def send(self, request: ModelRequest) -> ModelAnswer:
        """Query the model once. A person's edits of the request and the answer take effect.

        Args:
            request: The request, with the transcript's messages.

        Raises:
            ModelError: There is no answer, or the person's edit isn't a valid answer.
            ToolDeniedError: A person denied the query.
            InjectedError: A person raised an exception in place of the query.
        """
        if self._dbg is None:
            return await self._stream(request)
        shown = encode_request(request)
        answer, own_answer = None, None
        async with self._dbg.llm(shown, model=request.model) as query:
            if not query.skipped:
                if query.prompt is not shown:
                    request = self._edited(request, query.prompt)
                answer = await self._stream(request)
                own_answer = encode_answer(answer.message)
                query.response, query.usage = own_answer, answer.usage
        if answer is not None and query.response is own_answer:
            return answer
        return self._accept_edited_answer(answer, query.response)

    async def _stream(self, request: ModelRequest) -> ModelAnswer:
        builder = AnswerBuilder(request.messages)
        try:
            async with aclosing(
                stream_events(self._provider, request, self._idle_timeout_s)
            ) as events:
                async for event in events:
                    self._transcript.record_event(builder.add(event))
            return builder.answer()
        except ModelError as error:
            if builder.has_error:
                raise
            raise self._failed(error.kind, str(error)) from None

    def _edited(self, request: ModelRequest, prompt: Any) -> ModelRequest:
        """The request as a person edited it; the conversation goes on from there."""
        try:
            edited = decode_request(prompt, request)
        except ValueError as error:
            text = f"The edited prompt can't be sent: {error}."
            raise self._failed("invalid", text) from None
        wrong = find_conversation_problem(edited.messages)
        if wrong is not None:
            raise self._failed("invalid", f"The edited prompt can't be sent: {wrong}")
        self._transcript.replace_messages(edited.messages)
        return edited

    def _accept_edited_answer(self, answer: ModelAnswer | None, response: Any) -> ModelAnswer:
        """The answer that a person gave, or made of the model's."""
        try:
            message = decode_answer(response)
        except ValueError as error:
            text = f"The edited answer can't be used: {error}."
            raise self._failed("invalid", text) from None
        message = self._with_unique_call_ids(message)
        data = {"what": "answer", "message": encode_answer(message)}
        self._transcript.record_event(TraceEvent(EDITED_KIND, data))
        known = () if answer is None else answer.message.tool_calls
        for call in message.tool_calls:
            if call not in known:
                self._transcript.record_event(
                    ToolCallReady(call.call_id, call.name, call.args_json)
                )
        reason = "tool_calls" if message.tool_calls else "stop"
        return ModelAnswer(
            message=message, reason=reason, usage=None if answer is None else answer.usage
        )

    def _with_unique_call_ids(self, message: AssistantMessage) -> AssistantMessage:
        """An answer whose calls have ids of their own: a person may have copied one."""
        ids = CallIds(self._transcript.messages)
        calls = (replace(call, call_id=ids.reserve(call.call_id)) for call in message.tool_calls)
        return replace(message, tool_calls=tuple(calls))

    def _failed(self, kind: str, text: str) -> ModelError:
        """Tell why there is no answer, and give it as an error."""
        self._transcript.record_event(TraceEvent("error", {"kind": kind, "message": text}))
        return ModelError(kind, text)
