"""Pure codecs of the LLM APIs: bytes to typed values and back, without I/O, clock or chance.

Imports `protocol`.
Begin reading in `events`, then in `conversation`: answers and requests, independent of the API;
`chat_completions`, `responses` and `messages` are three APIs.

The callers (a server, a provider, the debugger) do the I/O, and pass in ids and times.
"""
