"""What the model says in the repository `pages`: it counts the page that isn't full."""

from agentstepper_nb.models.scripted import Script, ScriptedCall, ScriptRule, say, tool_says, turn

TESTS = ScriptedCall("run_command", {"command": "python -m unittest"})
#: As models look at things; before there was a sandbox, a person was asked.
LOOK = ScriptedCall(
    "run_command", {"command": "python -c 'import pages; print(*dir(pages))' | wc -w"}
)
GREEN = tool_says("run_command", r'"exit_code":0')

RULES = [
    ScriptRule(turn(0), say("I run the tests.", TESTS, LOOK)),
    ScriptRule(turn(1), say("A page is missing.", ScriptedCall("read_file", {"path": "pages.py"}))),
    ScriptRule(
        turn(2),
        ScriptedCall(
            "edit_file",
            {
                "path": "pages.py",
                "old": "return items // size",
                "new": "return (items + size - 1) // size",
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

script = Script("pages", RULES)
