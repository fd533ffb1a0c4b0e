"""Agents that run on their own: docs/design/0015-runtime.md.

`frame` and `moniker` are what a person writes an agent with; `agent_base`, `session_agent` and
`step_runner` run it; `dispatcher`, `action_handlers` and `session_host` bring it what the queue says;
`client` is the notebook's door.
"""
