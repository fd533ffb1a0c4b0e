"""What the model says of colorama with a wrong letter: it searches before it reads."""

from agentstepper_nb.models.scripted import Script, ScriptedCall, ScriptRule, say, tool_says, turn

TESTS = ScriptedCall("run_command", {"command": "python -m unittest colorama.tests.ansi_test"})
#: As models look at things; before there was a sandbox, a person was asked.
LOOK = ScriptedCall("run_command", {"command": "cd colorama && ls *.py | head -n 5 && cd .."})
GREEN = tool_says("run_command", r'"exit_code":0')

RULES = [
    ScriptRule(turn(0), say("I run the tests.", TESTS, LOOK)),
    ScriptRule(
        turn(1),
        say(
            "Where are codes made?",
            ScriptedCall("search", {"pattern": "def code_to_chars", "context": 2}),
        ),
    ),
    ScriptRule(
        turn(2),
        ScriptedCall(
            "edit_file",
            {
                "path": "colorama/ansi.py",
                "old": "return CSI + str(code) + 'M'",
                "new": "return CSI + str(code) + 'm'",
            },
        ),
    ),
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

script = Script("colorama", RULES)
