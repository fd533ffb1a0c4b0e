"""Pure codecs of the LLM APIs: bytes to typed values and back, without I/O, clock or chance.

`chat` has the Chat Completions API, `sse` the framing of its streams. Whoever listens or calls
(a server, a provider, the debugger's own eyes) brings the socket, and passes in ids and times.
"""
