"""Background agents: their sessions, steps and queue, as docs/design/0015-runtime.md describes them.

Imports `protocol`, `sdk`, `store`, `models`, `llm_wire`, `rpc`, `worker`, `discover`.
Begin reading in `session_agent`, then in `step_runner`; `frame` and `moniker` are what a person
writes an agent with, `client` is what notebooks import.
"""
