"""A small model on this machine: nothing leaves it, and no account is needed.

`LocalProvider` is the provider. `model_process` finds the model: a server of one's own, a GGUF file,
or the weights that a package brings. A process of its own (`model_server`) serves a file, since
loading one holds the interpreter for seconds.

Small models call no tools by themselves, or not in a form that can be read. So tools are told in words,
the answer is held to a JSON schema (`constrained_request`), and what comes is read as calls
(`constrained_answer`); `provider` does both.
"""

from .provider import LocalProvider

__all__ = ["LocalProvider"]
