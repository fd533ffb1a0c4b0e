"""A model that answers by a script: a server for tests, demos and tutorials.

Imports what `models` may.
Begin reading in `script`: rules and replies; `server` serves Chat Completions, Responses and
Messages by them.

It speaks OpenAI's Chat Completions and Responses APIs and Anthropic's Messages API.

::

    script = Script("greeter", [
        ScriptRule(turn(0) & says("user", "(?i)hello"), say("Let me look.", ScriptedCall("look"))),
        ScriptRule(turn(1), say("Hello!")),
    ])
    with ScriptedServer(script) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="any")

Replies are a pure function of the request. There is no cursor: the turn is counted in the request's
own messages, ids are hashed from it, `created` is 0. So a conversation that is replayed, forked,
edited in the debugger, or held fifty times at once gets the same answers, byte for byte. The one
thing a server remembers is how often an `ErrorFault` has refused.

From a shell: `python -m agentstepper_nb.models.scripted fix_tests --port 8123`.
"""

from .script import (
    DisconnectFault,
    ErrorFault,
    Fault,
    NoRuleMatchesError,
    PauseFault,
    PauseGate,
    RequestCondition,
    Script,
    ScriptedCall,
    ScriptedReply,
    ScriptRule,
    always,
    find_last_tool_result,
    find_turn,
    last_says,
    list_builtin_scripts,
    load_script,
    say,
    says,
    tool_says,
    turn,
    where,
)
from .scripted_model import ScriptedExchange
from .server import ScriptedServer

__all__ = [
    "DisconnectFault",
    "ErrorFault",
    "Fault",
    "NoRuleMatchesError",
    "PauseFault",
    "PauseGate",
    "RequestCondition",
    "Script",
    "ScriptRule",
    "ScriptedCall",
    "ScriptedExchange",
    "ScriptedReply",
    "ScriptedServer",
    "always",
    "find_last_tool_result",
    "find_turn",
    "last_says",
    "list_builtin_scripts",
    "load_script",
    "say",
    "says",
    "tool_says",
    "turn",
    "where",
]
