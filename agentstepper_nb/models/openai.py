"""Models behind OpenAI's APIs or compatible servers: a streaming provider, and a text model."""

from __future__ import annotations

import os
from typing import Any, Final, Literal, cast
from uuid import uuid4

import msgspec
import openai
from openai.types.chat import ChatCompletion

from ..errors import ModelError
from ..llm_wire import chat_completions, responses
from ..llm_wire.answer_stream import AnswerStream
from ..llm_wire.conversation import ModelRequest
from ..own_queries import mark_own_query
from .http_provider import (
    PLACEHOLDER_KEY,
    HTTPProvider,
    HttpResponse,
    ProviderErrorMessages,
    TimeoutPolicy,
    VendorErrors,
)

KEY_VARIABLE: Final = "OPENAI_API_KEY"
URL_VARIABLE: Final = "OPENAI_BASE_URL"

OPENAI_HOST: Final = "api.openai.com"
_OWN_URL: Final = f"https://{OPENAI_HOST}/v1"


class OpenAIProvider(HTTPProvider):
    """Streams answers of OpenAI's Chat Completions or Responses API, or of a compatible server.

    Args:
        api: Which of the two APIs. Most other servers support only chat completions.
        base_url: The endpoint, with its `/v1`. None: OPENAI_BASE_URL, else OpenAI's own endpoint.
        api_key: The API key. None: OPENAI_API_KEY, unless `base_url` is given. Only OpenAI's own
            endpoint requires a key.
        timeouts: The time-outs and retries of requests.

    Raises:
        ModelError: The address is invalid, or a key is missing.
    """

    def __init__(
        self,
        api: Literal["chat", "responses"] = "chat",
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeouts: TimeoutPolicy | None = None,
    ) -> None:
        self._api = api
        timeouts = timeouts or TimeoutPolicy()
        url = base_url or os.environ.get(URL_VARIABLE)
        # Never send the environment's API key to a custom base URL.
        key = api_key or (None if base_url else os.environ.get(KEY_VARIABLE))
        if not url and not key:
            text = f"set {KEY_VARIABLE}, or {URL_VARIABLE} for a server of your own."
            raise ModelError("invalid", f"There is no key for OpenAI: {text}")
        try:
            self._client = openai.AsyncOpenAI(
                base_url=url or _OWN_URL,
                api_key=key or PLACEHOLDER_KEY,
                max_retries=timeouts.max_retries,
                timeout=openai.Timeout(timeouts.idle_timeout_s, connect=timeouts.connect_s),
            )
        except Exception as error:  # the HTTP client's own tree, too, which isn't ours to import
            raise ModelError(
                "invalid", f"The address {url} can't be used for a model: {error}"
            ) from None

    @property
    def name(self) -> str:
        """See `ModelProvider.name`."""
        return "openai" if self._api == "chat" else "openai-responses"

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    @property
    def _vendor_errors(self) -> VendorErrors:
        return cast(VendorErrors, openai)

    async def _post(self, request: ModelRequest) -> HttpResponse:
        path, body = self._encode_body(request)
        # Not `chat.completions.create`: an agent in this process may trace that method, and this query
        # would be recorded as a second event.
        stream = await self._client.post(
            path,
            body=msgspec.json.decode(body),
            cast_to=object,
            stream=True,
            stream_cls=openai.AsyncStream[Any],
        )
        return stream.response

    def _encode_body(self, request: ModelRequest) -> tuple[str, bytes]:
        if self._api == "responses":
            return "/responses", responses.encode_request(request)
        own = self._client.base_url.host == OPENAI_HOST
        limit: chat_completions.LimitName = "max_completion_tokens" if own else "max_tokens"
        return "/chat/completions", chat_completions.encode_model_request(request, limit=limit)

    def _make_stream(self) -> AnswerStream:
        return (
            chat_completions.ChatCompletionStream(_new_id)
            if self._api == "chat"
            else responses.ResponsesStream()
        )

    def _make_error_messages(self, model: str) -> ProviderErrorMessages:
        where = f"The model {model} at {self._client.base_url}"
        return ProviderErrorMessages(where, KEY_VARIABLE, URL_VARIABLE)


def _new_id(number: int) -> str:
    """Make a call id for servers that send none. Ids are unique in a whole session."""
    return f"call_{uuid4().hex[:16]}"


#: The most seconds of one attempt.
TIMEOUT_S: Final = 20.0
#: Attempts after the first, if the endpoint is busy or the connection breaks.
MAX_RETRIES: Final = 1


class OpenAITextModel:
    """A model that is queried by chat completions.

    Args:
        model: The model's name at the endpoint.
        base_url: The endpoint, with its `/v1`. None: OPENAI_BASE_URL, else OpenAI's own endpoint.
        api_key: The API key. None: OPENAI_API_KEY.
        timeout: The most seconds of one attempt.
        max_retries: The number of attempts after the first.

    Raises:
        ModelError: The address is invalid, or a key is missing.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT_S,
        max_retries: int = MAX_RETRIES,
    ) -> None:
        self._name = model
        try:
            self._client = openai.AsyncOpenAI(
                base_url=base_url, api_key=api_key, timeout=timeout, max_retries=max_retries
            )
        except Exception as error:  # the HTTP client's own tree, too, which isn't ours to import
            raise ModelError(
                "invalid", f"The request to the model {model} can't be sent: {error}"
            ) from None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    async def text(self, system: str, prompt: str, max_tokens: int) -> str:
        """Query the model once. See `TextModel.text`."""
        try:
            said = _get_content(await self._complete(system, prompt, max_tokens))
        except openai.APITimeoutError:
            raise ModelError("timeout", f"{self._where} didn't answer in time.") from None
        except openai.APIStatusError as error:
            busy = error.status_code == 429 or error.status_code >= 500
            kind = "overloaded" if busy else "refused"
            text = f"{self._where} answered {error.status_code}: {error.message}"
            raise ModelError(kind, text) from None
        except openai.APIConnectionError as error:
            why = error.__cause__ or error
            raise ModelError("unreachable", f"{self._where} can't be reached: {why}") from None
        # Whatever stands at that address, its answer may be of any form.
        except (openai.APIError, ValueError, TypeError, AttributeError, LookupError):
            text = f"The answer of {self._where} isn't a chat completion."
            raise ModelError("invalid", text) from None
        if not said.strip():
            raise ModelError("empty", f"{self._where} answered without a text.")
        return said

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    @property
    def _where(self) -> str:
        return f"The model {self._name} at {self._client.base_url}"

    async def _complete(self, system: str, prompt: str, max_tokens: int) -> ChatCompletion:
        # OpenAI's newer models refuse `max_tokens`, and many other servers know only that name.
        own = self._client.base_url.host == OPENAI_HOST
        body = {
            "model": self._name,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": prompt},
            ],
            "max_completion_tokens" if own else "max_tokens": max_tokens,
        }
        # Not `chat.completions.create`: an agent in this process may trace that method, and this query
        # would halt as an event of the agent.
        with mark_own_query():
            return await self._client.post("/chat/completions", body=body, cast_to=ChatCompletion)


def _get_content(completion: ChatCompletion) -> str:
    content = completion.choices[0].message.content
    if content is not None and not isinstance(content, str):
        raise TypeError("an answer's content isn't a text")
    return content or ""
