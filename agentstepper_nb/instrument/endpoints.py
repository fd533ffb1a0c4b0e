"""Recognizes HTTP requests that are LLM queries: known APIs, and addresses that an author registers."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Final

from ..llm_wire.llm_api import APIS, LlmApi, LlmRequest, recognize_request

#: The APIs by the names that `register_endpoint` takes.
_NAMED: Final = {api.name.lower().replace(" ", "_"): api for api in APIS}

_registered: dict[str, LlmApi] = {}


def register_endpoint(url: str, api: str | LlmApi) -> None:
    """Treat POST requests to an address as LLM queries, though the path is none of the known APIs'.

    ::

        register_endpoint("https://models.example.com/generate*", "chat_completions")

    Args:
        url: A pattern as shells have it, matched against the whole URL without its query.
        api: The API's form: "chat_completions", "responses", "messages", "gemini", or an `LlmApi`
            of your own.

    Raises:
        ValueError: No API has this name.
    """
    _registered[url] = find_api(api)


def find_api(api: str | LlmApi) -> LlmApi:
    """The LLM API of a name.

    Raises:
        ValueError: No API has this name.
    """
    if isinstance(api, LlmApi):
        return api
    if api not in _NAMED:
        raise ValueError(f"There is no LLM API {api!r}. Pass one of {', '.join(_NAMED)}.")
    return _NAMED[api]


def find_llm_request(request: Any) -> LlmRequest | None:
    """Parse an httpx or httpx2 request that is an LLM query.

    Args:
        request: The client's request.

    Returns:
        None where the request is no LLM query, or its body is sent in pieces.
    """
    if request.method != "POST":
        return None

    def content() -> bytes:
        try:
            body: bytes = request.content
        except RuntimeError:  # RequestNotRead: a body that is made while it is sent
            return b""
        return body

    path: str = request.url.path
    if _registered:
        address = str(request.url.copy_with(query=None, fragment=None))
        for pattern, api in _registered.items():
            if fnmatchcase(address, pattern):
                return recognize_request("POST", path, content, api)
    return recognize_request("POST", path, content)
