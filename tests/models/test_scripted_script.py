import re
from functools import partial
from typing import Any

import pytest

from agentstepper_nb.llm_wire.chat_completions import (
    ChatCompletionMessage,
    ChatCompletionRequest,
    ChatFunctionCall,
    ChatToolCall,
)
from agentstepper_nb.models.scripted import (
    NoRuleMatchesError,
    RequestCondition,
    Script,
    ScriptedCall,
    ScriptedReply,
    ScriptRule,
    always,
    find_last_tool_result,
    find_turn,
    last_says,
    list_builtin_scripts,
    load_script,
    say,
    says,
    tool_says,
    turn,
    where,
)


def called(id: str, tool: str) -> ChatCompletionMessage:
    return ChatCompletionMessage(
        "assistant", tool_calls=(ChatToolCall(id, ChatFunctionCall(tool, "{}")),)
    )


def make_tool_result(id: str, text: str) -> ChatCompletionMessage:
    return ChatCompletionMessage("tool", text, tool_call_id=id)


TALK = ChatCompletionRequest(
    "m",
    (
        ChatCompletionMessage("system", "You are careful."),
        ChatCompletionMessage("user", "Fix it"),
        called("1", "run"),
        make_tool_result("1", "2 failed"),
        called("2", "read"),
        make_tool_result("2", "x = 1"),
        ChatCompletionMessage("user", "Go on"),
    ),
)
NOTHING = ChatCompletionRequest("m", ())


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (turn(2), True),
        (turn(1), False),
        (says("user", "^Go"), True),
        (says("user", "Fix"), False),
        (says("system", "careful"), True),
        (says("developer", ""), False),
        (last_says("on$"), True),
        (last_says("x = 1"), False),
        (tool_says("run", "failed"), True),
        (tool_says("run", "passed"), False),
        (tool_says("write", ""), False),
        (where("is m", lambda request: request.model == "m"), True),
        (always, True),
        (turn(2) & always, True),
        (turn(1) & always, False),
        (turn(1) | always, True),
        (turn(1) | turn(0), False),
        (~turn(1), True),
        (~always, False),
    ],
    ids=str,
)
def test_a_condition_holds_or_not(condition: RequestCondition, holds: bool) -> None:
    assert condition(TALK) is holds


def test_a_condition_reads_as_it_was_written() -> None:
    written = turn(0) & ~(says("user", "a|b") | tool_says("run", "x")) & last_says("y")
    assert str(written) == (
        "turn(0) & ~((says('user', 'a|b') | tool_says('run', 'x'))) & last_says('y')"
    )
    assert str(where("it rains", lambda _: True)) == "where('it rains')"


def test_a_pattern_that_is_none_is_found_when_the_script_is_made() -> None:
    for make in (last_says, partial(says, "user"), partial(tool_says, "run")):
        with pytest.raises(re.error):
            make("(")


def test_conditions_on_a_conversation_that_is_empty() -> None:
    assert find_turn(NOTHING) == 0
    assert not last_says("")(NOTHING)
    assert not says("user", "")(NOTHING)


def test_the_newest_result_of_a_tool() -> None:
    again = ChatCompletionRequest(
        "m", (*TALK.messages, called("3", "run"), make_tool_result("3", "3 passed"))
    )
    assert find_last_tool_result(TALK, "run") == "2 failed"
    assert find_last_tool_result(again, "run") == "3 passed"
    assert find_last_tool_result(again, "write") is None


def test_the_first_rule_that_holds_answers() -> None:
    script = Script(
        "s",
        [
            ScriptRule(turn(5), say("a")),
            ScriptRule(turn(2), say("b")),
            ScriptRule(always, say("c")),
        ],
    )
    assert script.rule_for(TALK).reply_to(TALK) == ScriptedReply("b")
    assert script.rule_for(NOTHING).reply_to(NOTHING) == ScriptedReply("c")


def test_a_reply_is_a_text_calls_or_made_from_the_request() -> None:
    call = ScriptedCall("read", {"path": "a"})
    assert ScriptRule(always, call).reply_to(TALK) == ScriptedReply(None, (call,))
    assert ScriptRule(always, say("t", call)).reply_to(TALK) == ScriptedReply("t", (call,))
    assert ScriptRule(always, lambda request: say(request.model)).reply_to(TALK) == ScriptedReply(
        "m"
    )
    assert ScriptRule(always, lambda _: call).reply_to(TALK) == ScriptedReply(None, (call,))


def test_the_arguments_of_a_call() -> None:
    assert ScriptedCall("t").arguments_json == "{}"
    assert ScriptedCall("t", {"ü": [1, None]}).arguments_json == '{"ü": [1, null]}'
    assert ScriptedCall("t", '{"half": ').arguments_json == '{"half": '


def test_where_no_rule_holds_the_error_says_what_was_seen() -> None:
    script = Script("short", [ScriptRule(turn(0), say("a")), ScriptRule(turn(1), say("b"))])
    with pytest.raises(NoRuleMatchesError) as caught:
        script.rule_for(TALK)
    assert str(caught.value) == (
        "No rule of the script 'short' matches turn 2. "
        "Seen: 7 messages, the newest from user: 'Go on'. "
        "Its rules: 1. turn(0); 2. turn(1)."
    )


def test_that_error_stays_short_and_knows_empty_ones() -> None:
    with pytest.raises(NoRuleMatchesError, match=r"'x{200}…'"):
        Script("s", []).rule_for(
            ChatCompletionRequest("m", (ChatCompletionMessage("user", "x" * 999),))
        )
    with pytest.raises(NoRuleMatchesError, match=r"Seen: no messages\. Its rules: none\."):
        Script("s", []).rule_for(NOTHING)


def test_the_built_in_scripts_load() -> None:
    assert "fix_tests" in list_builtin_scripts()
    assert [load_script(name).name for name in list_builtin_scripts()] == list(
        list_builtin_scripts()
    )


def test_a_script_of_ones_own(tmp_path: Any) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from agentstepper_nb.models.scripted import *\n"
        "script = Script('mine', [ScriptRule(always, say('hi'))])\n"
    )
    assert load_script(str(file)).name == "mine"


def test_what_is_no_script_says_so(tmp_path: Any) -> None:
    file = tmp_path / "empty.py"
    file.write_text("")
    with pytest.raises(ValueError, match=r"empty\.py has no `script = Script"):
        load_script(str(file))
    with pytest.raises(ValueError, match="built-in scripts: fix_tests"):
        load_script("fix_test")
