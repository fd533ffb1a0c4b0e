"""Models behind an OpenAI-compatible endpoint, as text alone."""

from __future__ import annotations

from typing import Final

import openai
from openai.types.chat import ChatCompletion

from ...errors import ModelError

#: Seconds that one attempt may take.
TIMEOUT: Final = 20.0
#: Attempts after the first, where the endpoint is busy or the connection breaks.
RETRIES: Final = 1
#: Where the longest answer goes by the API's newer name: its models refuse the older one, which is
#: all that many other servers know.
OPENAIS_OWN: Final = "api.openai.com"


class OpenAIText:
    """A model that chat completions reach.

    Args:
        model: Its name there.
        base_url: The endpoint, with its `/v1`. None: OPENAI_BASE_URL, else OpenAI's own.
        api_key: None: OPENAI_API_KEY.
        timeout: Seconds that one attempt may take.
        retries: Attempts after the first.

    Raises:
        ModelError: The address can't be one, or there is no key.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:
        self._name = model
        try:
            self._client = openai.AsyncOpenAI(
                base_url=base_url, api_key=api_key, timeout=timeout, max_retries=retries
            )
        except Exception as error:  # the HTTP client's own tree, too, which isn't ours to import
            raise ModelError("invalid", f"The model {model} can't be asked: {error}") from None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    async def text(self, system: str, prompt: str, max_tokens: int) -> str:
        """Ask it once. See `TextModel.text`."""
        try:
            said = _said(await self._complete(system, prompt, max_tokens))
        except openai.APITimeoutError:
            raise ModelError("timeout", f"{self._where} took too long to answer.") from None
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
            text = f"{self._where} answered what is no chat completion."
            raise ModelError("invalid", text) from None
        if not said.strip():
            raise ModelError("empty", f"{self._where} answered without a text.")
        return said

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    @property
    def _where(self) -> str:
        return f"The model {self._name} at {self._client.base_url}"

    async def _complete(self, system: str, prompt: str, max_tokens: int) -> ChatCompletion:
        own = self._client.base_url.host == OPENAIS_OWN
        body = {
            "model": self._name,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": prompt},
            ],
            "max_completion_tokens" if own else "max_tokens": max_tokens,
        }
        # Not by `chat.completions.create`: an agent in this process may have that traced as its own,
        # and our question would become a step to ask about.
        return await self._client.post("/chat/completions", body=body, cast_to=ChatCompletion)


def _said(completion: ChatCompletion) -> str:
    content = completion.choices[0].message.content
    if content is not None and not isinstance(content, str):
        raise TypeError("an answer's content is no text")
    return content or ""
