"""One module per framework, whose tool calls halt with arguments and results of the framework's types.

Imports what `instrument` may; a framework is imported only inside functions.
Begin reading in `langchain`; `instrument.seams` loads an adapter when its framework is imported.
"""
