"""A fake model server that answers from a script: for tests, demos and tutorials.

Imports what `models` may.
Begin reading in `script`: rules and replies; `server` answers HTTP requests with them.

The server implements OpenAI's Chat Completions and Responses APIs and Anthropic's Messages API.

::

    script = Script("greeter", [
        ScriptRule(turn(0) & says("user", "(?i)hello"), say("Let me look.", ScriptedCall("look"))),
        ScriptRule(turn(1), say("Hello!")),
    ])
    with ScriptedServer(script) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="any")

Replies are a pure function of the request. The server has no cursor: the turn is the number of
assistant messages in the request, ids are hashes of the request, and `created` is 0. A conversation
that is replayed, forked, edited in the debugger, or run fifty times at once therefore gets the same
answers, byte for byte. The server's only state is the number of refusals of each `ErrorFault`.

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
