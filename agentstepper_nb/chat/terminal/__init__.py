"""The chat in a terminal.

Imports what `chat` may.
Begin reading in `repl`: what is typed; `view` prints what happens.
"""
