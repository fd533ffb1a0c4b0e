"""What the model says to `examples/third_party_smolagents.py`: as the script `fix_tests`.

smolagents tells a tool's result as a user's message, and ends with a call of `final_answer`.
"""

from agentstepper_nb.llm_wire.chat_completions import ChatCompletionRequest
from agentstepper_nb.models.scripted import Script, ScriptedCall, ScriptRule, says, turn
from agentstepper_nb.models.scripted.scripts.fix_tests import FILE_NAME, GUESSED_LINE, WRONG_LINE


def guess(request: ChatCompletionRequest) -> ScriptedCall:
    """Write the file that was read, with the one line changed."""
    code = request.messages[-1].text.partition("Observation:\n")[2]
    return ScriptedCall(
        "write", {"path": FILE_NAME, "content": code.replace(WRONG_LINE, GUESSED_LINE) + "\n"}
    )


def answer(text: str) -> ScriptedCall:
    return ScriptedCall("final_answer", {"answer": text})


script = Script(
    "smolagents",
    [
        ScriptRule(turn(0), ScriptedCall("test")),
        ScriptRule(says("user", r"exit code 0\b"), answer("All tests pass.")),
        ScriptRule(turn(1), ScriptedCall("read", {"path": FILE_NAME})),
        ScriptRule(turn(2), guess),
        ScriptRule(turn(3), ScriptedCall("test")),
        ScriptRule(turn(4), answer("The tests still fail.")),
    ],
    description="An agent of smolagents on a small project with a failing test.",
)
