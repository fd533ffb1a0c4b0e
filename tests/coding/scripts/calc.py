"""What the model says in the repository `calc`: it searches, and its first edit fails."""

from agentstepper_nb.models.scripted import Call, Rule, Script, say, tool_says, turn

TESTS = Call("run_command", {"command": "python -m unittest"})
#: As models look at things; before there was a sandbox, a person was asked.
LOOK = Call("run_command", {"command": "cd calc && wc -l *.py && cd .. && python -c 'import calc'"})
GREEN = tool_says("run_command", r'"exit_code":0')

EDIT = {
    "path": "calc/evaluate.py",
    "old": "_sum(rest, STRENGTH[sign]))",
    "new": "_sum(rest, STRENGTH[sign] + 1))",
}

RULES = [
    Rule(turn(0), say("I run the tests.", TESTS, LOOK, Call("list_files", {}))),
    Rule(turn(1), say("Where is the order?", Call("search", {"pattern": "STRENGTH"}))),
    Rule(
        turn(2),
        say(
            "It should bind from the left.",
            Call("edit_file", EDIT | {"old": "_sum(rest, STRENGTH)"}),
            Call("edit_file", EDIT),
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

script = Script("calc", RULES)
