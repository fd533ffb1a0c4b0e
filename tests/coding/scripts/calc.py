"""What the model says in the repository `calc`: it searches, and its first edit fails."""

from agentstepper_nb.models.scripted import Script, ScriptedCall, ScriptRule, say, tool_says, turn

TESTS = ScriptedCall("run_command", {"command": "python -m unittest"})
#: As models look at things; before there was a sandbox, a person was asked.
LOOK = ScriptedCall(
    "run_command", {"command": "cd calc && wc -l *.py && cd .. && python -c 'import calc'"}
)
GREEN = tool_says("run_command", r'"exit_code":0')

EDIT = {
    "path": "calc/evaluate.py",
    "old": "_sum(rest, STRENGTH[sign]))",
    "new": "_sum(rest, STRENGTH[sign] + 1))",
}

RULES = [
    ScriptRule(turn(0), say("I run the tests.", TESTS, LOOK, ScriptedCall("list_files", {}))),
    ScriptRule(
        turn(1), say("Where is the order?", ScriptedCall("search", {"pattern": "STRENGTH"}))
    ),
    ScriptRule(
        turn(2),
        say(
            "It should bind from the left.",
            ScriptedCall("edit_file", EDIT | {"old": "_sum(rest, STRENGTH)"}),
            ScriptedCall("edit_file", EDIT),
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

script = Script("calc", RULES)
