"""What the model says in the repository `pages`: it counts the page that isn't full."""

from agentstepper_nb.models.scripted import Call, Rule, Script, say, tool_says, turn

TESTS = Call("run_command", {"command": "python -m unittest"})
#: As models look at things; before there was a sandbox, a person was asked.
LOOK = Call("run_command", {"command": "python -c 'import pages; print(*dir(pages))' | wc -w"})
GREEN = tool_says("run_command", r'"exit_code":0')

RULES = [
    Rule(turn(0), say("I run the tests.", TESTS, LOOK)),
    Rule(turn(1), say("A page is missing.", Call("read_file", {"path": "pages.py"}))),
    Rule(
        turn(2),
        Call(
            "edit_file",
            {
                "path": "pages.py",
                "old": "return items // size",
                "new": "return (items + size - 1) // size",
            },
        ),
    ),
    Rule(turn(3), say("Let me see whether that was it.", TESTS)),
    Rule(
        turn(4) & GREEN,
        say("It was. I clean up.", Call("run_command", {"command": "rm -rf build"})),
    ),
    Rule(
        turn(5) & tool_says("run_command", "edited_by_a_person"),
        say("All tests pass. Of `build` only the cache is gone, as you wanted."),
    ),
]

script = Script("pages", RULES)
