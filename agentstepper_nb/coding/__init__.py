"""The coding agent: a loop around a model and tools, each step of which can be stepped and edited.

`session.CodingSession` is the whole of it under one roof, as `agentstepper code`, notebooks and the
server use it; `orchestrator.AgentOrchestrator` is the loop alone.
"""
