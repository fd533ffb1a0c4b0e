"""The default model of the moniker `joke`: jokes, offline, without an API key.

A prompt for “joke number 3 about cats” gets the third of `JOKES`, about cats.
"""

import re

from agentstepper_nb.llm_wire.chat_completions import ChatCompletionRequest
from agentstepper_nb.models.scripted import Script, ScriptedReply, ScriptRule, always, say, says

JOKES = (
    "I asked a book about {0} how it ends. It said: read me first.",
    "Two friends talk about {0}. Says one: “I know all of it.” Says the other: “Then you begin.”",
    "A debugger walks into a bar and orders {0}. It stays until somebody presses Continue.",
    "My plan for today was {0}. It compiles, but nobody dares to run it.",
    "Why does {0} never come alone? Somebody forgot to release the lock.",
    "I had a joke about {0}, but it has been claimed by another worker.",
    "{0} and I have an understanding: I don't, and it doesn't care.",
    "What do {0} and a Monday have in common? Neither has a test.",
)

_JOKE_REQUEST = re.compile(r"joke number (\d+) about (.+?)\.?\s*$", re.IGNORECASE | re.DOTALL)


def tell_joke(request: ChatCompletionRequest) -> ScriptedReply:
    """Reply with the joke whose number and subject the prompt names."""
    asked = [message.text for message in request.messages if message.role == "user"]
    found = _JOKE_REQUEST.search(asked[-1])
    number, subject = (int(found[1]), found[2]) if found else (1, "nothing in particular")
    joke = JOKES[(number - 1) % len(JOKES)].format(subject)
    return say(joke[:1].upper() + joke[1:])


script = Script(
    "jokes",
    [
        ScriptRule(says("user", r"(?i)\bjoke\b"), tell_joke),
        ScriptRule(always, say("I only know jokes.")),
    ],
    description="jokes on any subject, for background agents",
)
