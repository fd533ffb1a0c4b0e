"""Models behind OpenAI's APIs, or others that speak like them: `OpenAIText` and `OpenAIProvider`."""

from .provider import OpenAIProvider
from .text import OpenAIText

__all__ = ["OpenAIProvider", "OpenAIText"]
