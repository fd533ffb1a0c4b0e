"""The streaming provider of Anthropic's Messages API, and of compatible servers."""

from __future__ import annotations

import os
from typing import Any, Final, cast

import anthropic
import msgspec

from ..errors import ModelError
from ..llm_wire import messages
from ..llm_wire.answer_stream import AnswerStream
from ..llm_wire.conversation import ModelRequest
from .http_provider import (
    PLACEHOLDER_KEY,
    HTTPProvider,
    HttpResponse,
    ProviderErrorMessages,
    TimeoutPolicy,
    VendorErrors,
)

KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"
URL_VARIABLE: Final = "ANTHROPIC_BASE_URL"

_OWN_HOST: Final = "api.anthropic.com"
_OWN_URL: Final = f"https://{_OWN_HOST}"


class AnthropicProvider(HTTPProvider):
    """Streams answers of Anthropic's Messages API, or of a compatible server.

    Args:
        base_url: The endpoint, without a `/v1`. None: ANTHROPIC_BASE_URL, else Anthropic's own
            endpoint.
        api_key: The API key. None: ANTHROPIC_API_KEY, unless `base_url` is given. Only Anthropic's
            own endpoint requires a key.
        timeouts: The time-outs and retries of requests.

    Raises:
        ModelError: The address is invalid, or a key is missing.
    """

    name: Final = "anthropic"
    takes_temperature: Final = False

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeouts: TimeoutPolicy | None = None,
    ) -> None:
        timeouts = timeouts or TimeoutPolicy()
        url = base_url or os.environ.get(URL_VARIABLE)
        # Never send the environment's API key to a custom base URL.
        key = api_key or (None if base_url else os.environ.get(KEY_VARIABLE))
        if not url and not key:
            raise ModelError("invalid", f"There is no key for Anthropic: set {KEY_VARIABLE}.")
        try:
            self._client = anthropic.AsyncAnthropic(
                base_url=url or _OWN_URL,
                api_key=key or PLACEHOLDER_KEY,
                max_retries=timeouts.max_retries,
                timeout=anthropic.Timeout(timeouts.idle_timeout_s, connect=timeouts.connect_s),
            )
        except Exception as error:  # the HTTP client's own tree, too, which isn't ours to import
            raise ModelError(
                "invalid", f"The address {url} can't be used for a model: {error}"
            ) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    @property
    def _vendor_errors(self) -> VendorErrors:
        return cast(VendorErrors, anthropic)

    async def _post(self, request: ModelRequest) -> HttpResponse:
        # Not `messages.create`: an agent in this process may trace that method as its own.
        stream = await self._client.post(
            "/v1/messages",
            body=msgspec.json.decode(self._encode_body(request)),
            cast_to=object,
            stream=True,
            stream_cls=anthropic.AsyncStream[Any],
        )
        return stream.response

    def _encode_body(self, request: ModelRequest) -> bytes:
        # Compatible servers may not support prompt caching.
        cached = self._client.base_url.host == _OWN_HOST
        return messages.encode_request(request, is_prompt_cached=cached)

    def _make_stream(self) -> AnswerStream:
        return messages.MessagesStream()

    def _make_error_messages(self, model: str) -> ProviderErrorMessages:
        return ProviderErrorMessages(
            f"The model {model} at {self._client.base_url}", KEY_VARIABLE, URL_VARIABLE
        )
