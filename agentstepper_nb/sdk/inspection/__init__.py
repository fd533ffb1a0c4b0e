"""What a person sees of an agent that waits at a halt point: its stack, its locals, expressions there.

Imports what `sdk` may.
Begin reading in `inspector`, which answers the Core's requests, each on a thread of its own. Nothing
here changes what the agent does next, but for what an expression itself calls.
"""
