"""What the model says in the repository `names`: it reads and edits two files at once."""

from agentstepper_nb.models.scripted import Script, ScriptedCall, ScriptRule, say, tool_says, turn

TESTS = ScriptedCall("run_command", {"command": "python -m unittest"})
#: As models look at things; before there was a sandbox, a person was asked.
LOOK = ScriptedCall(
    "run_command",
    {"command": 'python -c \'from people import full_name; print(full_name("Ada", "L"))\''},
)
GREEN = tool_says("run_command", r'"exit_code":0')

RULES = [
    ScriptRule(turn(0), say("I run the tests.", TESTS, LOOK)),
    ScriptRule(
        turn(1),
        say(
            "Two things are wrong.",
            ScriptedCall("read_file", {"path": "people.py"}),
            ScriptedCall("read_file", {"path": "lists.py"}),
        ),
    ),
    ScriptRule(
        turn(2),
        say(
            "A list as a default is shared by all calls, and the names are sorted by the first.",
            ScriptedCall(
                "edit_file",
                {
                    "path": "people.py",
                    "old": '''titles=[]):
    """A name with its titles before it."""
    titles.append(first)
    return " ".join([*titles, last])''',
                    "new": '''titles=()):
    """A name with its titles before it."""
    return " ".join([*titles, first, last])''',
                },
            ),
            ScriptedCall(
                "edit_file",
                {
                    "path": "lists.py",
                    "old": "sorted(people))",
                    "new": "sorted(people, key=lambda name: name[::-1]))",
                },
            ),
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

script = Script("names", RULES)
