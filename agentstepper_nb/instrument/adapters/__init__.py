"""One module a framework: how its tool calls halt, with arguments and results of its own types.

Imports what `instrument` may; its framework inside functions alone.
Begin reading in `langchain`; `instrument.seams` loads each when its framework is imported.
"""
