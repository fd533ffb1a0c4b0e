"""The coding agent: a loop of a model and tools, in which each event can be stepped and edited.

Imports `protocol`, `sdk`, `models`, `llm_wire`, `rpc`, `worker`, `runtime`, `discover`, `line_file`.
Begin reading in `session`: `CodingSession`, as `agentstepper code`, notebooks and the server use
it; `orchestrator` is the loop alone.
"""
