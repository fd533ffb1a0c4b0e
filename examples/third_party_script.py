"""What the model says to `examples/third_party_smolagents.py`: as the script `fix_tests`.

smolagents tells a tool's result as a user's message, and ends with a call of `final_answer`.
"""

from agentstepper_nb.llm_wire.chat import Request
from agentstepper_nb.models.scripted import Call, Rule, Script, says, turn
from agentstepper_nb.models.scripted.scripts.fix_tests import FILE, GUESS, WRONG


def guess(request: Request) -> Call:
    """Write the file that was read, with the one line changed."""
    code = request.messages[-1].text.partition("Observation:\n")[2]
    return Call("write", {"path": FILE, "content": code.replace(WRONG, GUESS) + "\n"})


def answer(text: str) -> Call:
    return Call("final_answer", {"answer": text})


script = Script(
    "smolagents",
    [
        Rule(turn(0), Call("test")),
        Rule(says("user", r"exit code 0\b"), answer("All tests pass.")),
        Rule(turn(1), Call("read", {"path": FILE})),
        Rule(turn(2), guess),
        Rule(turn(3), Call("test")),
        Rule(turn(4), answer("The tests still fail.")),
    ],
    about="An agent of smolagents on a small project with a failing test.",
)
