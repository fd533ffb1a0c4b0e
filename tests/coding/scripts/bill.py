"""What the model says in the repository `bill`: it writes the whole file anew."""

from agentstepper_nb.models.scripted import Script, ScriptedCall, ScriptRule, say, tool_says, turn

TESTS = ScriptedCall("run_command", {"command": "python -m unittest"})
#: As models look at things; before there was a sandbox, a person was asked.
LOOK = ScriptedCall(
    "run_command", {"command": "python -c 'from bill import total; print(total([333], tip=10))'"}
)
GREEN = tool_says("run_command", r'"exit_code":0')

FILE = '''\
"""Bills, in cents."""


def total(prices, tip=0):
    """What is to be paid, with a tip in percent; half a cent goes up."""
    cents = sum(prices)
    return cents + (cents * tip + 50) // 100
'''

RULES = [
    ScriptRule(turn(0), say("I run the tests.", TESTS, LOOK)),
    ScriptRule(turn(1), say("It is the tip.", ScriptedCall("read_file", {"path": "bill.py"}))),
    ScriptRule(turn(2), ScriptedCall("write_file", {"path": "bill.py", "content": FILE})),
    ScriptRule(turn(3), say("Let me see whether that was it.", TESTS)),
    ScriptRule(
        turn(4) & GREEN,
        say("It was. I clean up.", ScriptedCall("run_command", {"command": "rm -rf build"})),
    ),
    ScriptRule(
        turn(5) & tool_says("run_command", "edited_by_a_person"),
        say("All tests pass. Of `build` only the cache is gone, as you wanted."),
    ),
]

script = Script("bill", RULES)
