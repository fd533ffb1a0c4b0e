"""The chat in a terminal.

Imports what `chat` may.
Begin reading in `repl`: handles typed lines; `view` prints events.
"""
