"""A small model on this machine: nothing leaves it, and no account is needed.

Imports what `models` may.
Begin reading in `provider`: `LocalProvider`; `model_process` finds the model and starts
`model_server`, since loading a file holds the interpreter for seconds.

Small models call no tools by themselves, or not in a readable form. So the prompt lists the tools
in words (`constrained_request`), a JSON schema constrains the answer, and `constrained_answer`
reads calls from it.
"""

from .provider import LocalProvider

__all__ = ["LocalProvider"]
