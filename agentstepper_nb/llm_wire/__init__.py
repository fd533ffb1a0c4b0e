"""Pure codecs of the LLM APIs: bytes to typed values and back, without I/O, clock or chance.

`conversation` and `events` have what is asked and answered, whoever serves the model.
`chat_completions`, `responses` and `messages` have the forms of three APIs, `answer_stream` what their
streams have in common, `sse` the framing of these; `answer_builder` puts an answer together from its
events, and `debugger_json` is how a debugger shows questions and answers. Whoever listens or calls (a
server, a provider, the debugger's own eyes) brings the socket, and passes in ids and times.
"""
