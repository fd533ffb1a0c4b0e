"""Gemini's `generateContent` and `streamGenerateContent`.

Imports what `llm_wire` may.
Begin reading in `answer_events`: an answer and the events of its stream, each made from the other.

https://ai.google.dev/api/generate-content
"""
