"""Pure codecs of the LLM APIs: bytes to typed values and back, without I/O, clock or chance.

Imports `protocol`.
Begin reading in `events`, then in `conversation`: what is asked and answered, whoever serves the
model; `chat_completions`, `responses` and `messages` are three APIs.

A server, a provider or the debugger brings the socket, and passes in ids and times.
"""
