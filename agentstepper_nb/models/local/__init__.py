"""A small language model on this machine: no data leaves the machine, and no account is needed.

Imports what `models` may.
Begin reading in `provider`: `LocalProvider`; `model_process` finds the model and starts
`model_server`, since loading a file holds the interpreter for seconds.

Small models call no tools by themselves, or write calls that can't be parsed. The prompt therefore
lists the tools as text (`constrained_request`), a JSON schema constrains the answer, and
`constrained_answer` decodes the calls in the answer.
"""

from .provider import LocalProvider

__all__ = ["LocalProvider"]
