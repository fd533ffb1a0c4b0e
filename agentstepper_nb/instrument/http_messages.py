"""The requests and responses of one LLM query: copied, decoded, and made anew in its client's types."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec

from ..llm_wire.answer_events import JoinedAnswer, JsonObject
from ..llm_wire.llm_api import LlmRequest

#: Headers that say how a body was sent, which a body made anew isn't.
_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding", b"content-encoding"})
_EVENT_STREAM: Final = "text/event-stream"
_JSON: Final = "application/json"
#: The statuses that replace an answer which the person denied, or made fail. No client retries after
#: these, some with the help of a header.
DENIED_STATUS: Final = 403
FAILED_STATUS: Final = 400
_NO_RETRY: Final = {"content-type": _JSON, "x-should-retry": "false"}


@dataclass(frozen=True)
class HttpMessages:
    """Copies, decodes and makes the messages of one query.

    Args:
        library: The module `httpx` or `httpx2`.
        request: The client's request.
        llm_request: The request as an LLM API's.
        reads_stream: Whether the client reads the response's body as it comes.
    """

    library: Any
    request: Any
    llm_request: LlmRequest
    reads_stream: bool

    def is_read_live(self, response: Any) -> bool:
        """Whether the client reads a response event by event, as it comes."""
        return self.reads_stream and _content_type(response).startswith(_EVENT_STREAM)

    def copy(self, response: Any, data: bytes | None = None) -> Any:
        """A copy of a response with the decompressed body; the client's own response stays unread.

        Args:
            response: The response, which was read.
            data: The body as it was sent, where the client reads the body live.
        """
        if data is None:
            if not self.reads_stream:
                return response
            data = b"".join(response.stream)
        return self.library.Response(200, headers=response.headers, content=data)

    def decode(self, response: Any) -> JoinedAnswer | None:
        """The answer of a response that was read; None where it is no answer of the API."""
        try:
            joined = self.llm_request.decode_answer(_content_type(response), response.content)
            self.llm_request.check_answer(joined.answer)
        except (ValueError, LookupError, TypeError, AttributeError):
            return None
        return joined

    def make_request(self, body: JsonObject) -> Any:
        """The client's request with another body.

        Args:
            body: The body, as the person edited it.
        """
        request = self.request
        headers = [pair for pair in request.headers.raw if pair[0].lower() not in _BODY_HEADERS]
        return self.library.Request(
            request.method,
            request.url,
            headers=headers,
            content=msgspec.json.encode(body),
            extensions=request.extensions,
        )

    def make_response(self, answer: Any, like: Any | None = None) -> Any:
        """A response with an answer that the person gave or edited.

        Args:
            answer: The answer in one piece.
            like: The response that it takes the place of.
        """
        is_like = like is not None and like.status_code < 400
        is_list = self._reads_list
        kind = _content_type(like) if is_like else self._expected_content_type
        headers: list[tuple[bytes, bytes]] = [(b"content-type", kind.encode())]
        if is_like:
            assert like is not None
            headers = [pair for pair in like.headers.raw if pair[0].lower() not in _BODY_HEADERS]
        return self._build(
            200, headers, self.llm_request.encode_answer(kind, answer, is_list), like
        )

    @property
    def _expected_content_type(self) -> str:
        streams = self.llm_request.body.get("stream") or self.request.url.params.get("alt") == "sse"
        return _EVENT_STREAM if streams else _JSON

    @property
    def _reads_list(self) -> bool:
        """Whether the client reads a JSON list: Gemini's stream without events."""
        is_stream = self.request.url.path.endswith(":streamGenerateContent")
        return is_stream and self._expected_content_type == _JSON

    def make_refusal(self, status: int, kind: str, message: str) -> Any:
        """A response that the client reads as an error of the LLM API.

        Args:
            status: `DENIED_STATUS` or `FAILED_STATUS`.
            kind: The error's code.
            message: The reason for the missing answer, which the agent reads.
        """
        error = {"message": message, "type": f"agentstepper_{kind}", "code": kind}
        body = msgspec.json.encode({"type": "error", "error": error})
        return self._build(status, dict(_NO_RETRY), body, None)

    def _build(self, status: int, headers: Any, body: bytes, like: Any | None) -> Any:
        library = self.library
        # A stream isn't read yet, so that the client may read it in each of its ways.
        content = {"stream": library.ByteStream(body)} if self.reads_stream else {"content": body}
        extensions = {} if like is None else like.extensions
        response = library.Response(
            status, headers=headers, request=self.request, extensions=extensions, **content
        )
        response.elapsed = _get_elapsed(like)
        return response


def _content_type(response: Any) -> str:
    return str(response.headers.get("content-type", ""))


def _get_elapsed(response: Any | None) -> Any:
    try:
        return timedelta() if response is None else response.elapsed
    except RuntimeError:  # only known once it is closed
        return timedelta()
