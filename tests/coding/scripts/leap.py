"""What the model says in the repository `leap`: it mends the rule by a patch."""

from agentstepper_nb.models.scripted import Script, ScriptedCall, ScriptRule, say, tool_says, turn

TESTS = ScriptedCall("run_command", {"command": "python -m unittest"})
#: As models look at things; before there was a sandbox, a person was asked.
LOOK = ScriptedCall(
    "run_command",
    {"command": "python -c 'from calendars import is_leap; print(is_leap(1900))' 2>&1 | tail -n 1"},
)
GREEN = tool_says("run_command", r'"exit_code":0')

PATCH = """\
--- a/calendars.py
+++ b/calendars.py
@@ -3,7 +3,7 @@

 def is_leap(year: int) -> bool:
     \"\"\"Whether a year has a 29th of February.\"\"\"
-    return year % 4 == 0
+    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


 def days(year: int) -> int:
"""

RULES = [
    ScriptRule(turn(0), say("I run the tests.", TESTS, LOOK)),
    ScriptRule(turn(1), say("1900 fails.", ScriptedCall("read_file", {"path": "calendars.py"}))),
    ScriptRule(turn(2), ScriptedCall("apply_patch", {"patch": PATCH})),
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

script = Script("leap", RULES)
