"""Answers beyond going on, in a real JupyterLab: skip, raise, guide, and an edit rule from an edit."""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import expect

from .axe import expect_clean
from .conftest import NewLab
from .lab import DebuggerView, Lab

_numbers = itertools.count(1)

_AGENT = """%%step {program}
@dbg.traced_tool
def search(text: str, limit: int = 10) -> dict:
    return {{"text": text, "limit": limit}}

@dbg.traced_llm
def ask(messages: list) -> str:
    return messages[-1]["content"]

print("first", search("a", limit=9))
try:
    search("b", limit=9)
except TimeoutError as error:
    print("failed", error)
print("said", ask([{{"role": "user", "content": "hi"}}]))
for number in range(3):
    print("then", search("c", limit=20 + number))
"""


def begin(new_lab: NewLab) -> tuple[Lab, DebuggerView]:
    """An agent that is halted at its first call."""
    program = f"answering-{next(_numbers)}"
    lab = new_lab(["%load_ext agentstepper_nb", _AGENT.format(program=program)])
    lab.run(0)
    expect(lab.prompt(0)).to_have_text("[1]:", timeout=60_000)
    lab.run(1)
    view = lab.view(1)
    view.expect_state("Halted before tool call", timeout=60_000)
    return lab, view


@pytest.mark.slow
def test_a_person_answers_in_the_calls_place_and_makes_an_edit_a_rule(new_lab: NewLab) -> None:
    lab, view = begin(new_lab)
    root = view.root

    root.get_by_role("button", name="Skip…").click()
    form = root.get_by_role("form", name="Result in the call’s place")
    form.get_by_role("tab", name="JSON").click()
    form.get_by_label("Result", exact=True).fill('{"text": "given"')
    expect(form.get_by_role("button", name="Skip the call")).to_have_attribute(
        "aria-disabled", "true"
    )
    form.get_by_label("Result", exact=True).fill('{"text": "given"}')
    form.get_by_role("button", name="Skip the call").click()
    view.expect_state("Halted after tool call")
    expect(root.get_by_role("img", name="skipped")).to_have_count(1)
    view.press("Step")

    # By keys alone.
    view.expect_state("Halted before tool call")
    root.get_by_role("button", name="Raise…").focus()
    lab.page.keyboard.press("Enter")
    form = root.get_by_role("form", name="Exception for the agent’s code")
    expect(form.get_by_label("Message", exact=True)).to_be_focused()
    lab.page.keyboard.type("too slow")
    form.get_by_label("Exception type").fill("TimeoutError")
    expect_clean(lab.page)
    form.get_by_label("Message", exact=True).press("Control+Enter")
    view.expect_state("Halted before LLM query")
    expect(root.get_by_role("img", name="let fail")).to_have_count(1)

    root.get_by_role("button", name="Guide…").click()
    form = root.get_by_role("form", name="Message to add to the prompt")
    form.get_by_label("Guide").fill("Answer in verse.")
    form.get_by_role("button", name="Add to the prompt").click()
    expect(root.get_by_role("img", name="guided")).to_have_count(1)
    expect(root.get_by_label("Said by a person")).to_contain_text("Answer in verse.")
    view.press("Step")
    view.expect_state("Halted after LLM query")
    view.press("Step")

    view.expect_state("Halted before tool call")
    root.get_by_role("button", name="Edit this call").click()
    root.get_by_role("tab", name="Both", exact=True).click()  # another test may have chosen JSON
    limit = root.get_by_label("limit", exact=True)
    limit.fill("many")
    expect(root.locator(".as-SchemaProblems, .as-Field-error:not(:empty)").first).to_be_visible()
    limit.fill('"many"')
    expect(root.locator(".as-SchemaProblems")).to_contain_text("limit: must be integer, not string")
    root.get_by_role("button", name="Undo the last change in this editor").click()
    limit.fill("5")
    expect(root.locator(".as-SchemaProblems")).to_have_count(0)
    root.get_by_role("button", name="Close").click()
    root.get_by_role("button", name="Edit rule…").click()
    rule = root.get_by_role("form", name="Add an edit rule")
    expect(rule.get_by_label("Path of the value")).to_have_value("/Argument/limit")
    expect(rule.get_by_label("Value, as JSON")).to_have_value("5")
    expect(rule).to_contain_text("Would have edited 3 rows of this run")
    rule.get_by_role("button", name="Add rule").click()
    listed = root.get_by_role("list", name="All edit rules")
    expect(listed).to_contain_text("set /Argument/limit to 5")
    listed.get_by_role("button", name="Python").click()
    expect(root.get_by_label("The rule as Python")).to_contain_text("def edit_search_arguments")
    expect_clean(lab.page)
    view.press(re.compile("^Continue"))
    view.expect_state("Finished")
    root.get_by_role("tab", name="Timeline").click()
    expect(root.get_by_role("img", name="edited by rule")).to_have_count(2)
    output = lab.outputs(1).last
    expect(output).to_contain_text("first {'text': 'given'}")
    expect(output).to_contain_text("failed too slow")
    expect(output).to_contain_text("said Answer in verse.")
    expect(output).to_contain_text("then {'text': 'c', 'limit': 5}")
    expect(output).not_to_contain_text("'limit': 2")
    root.get_by_role("tab", name="Breakpoints").click()
    listed.get_by_role("switch").click()
    expect(listed.get_by_role("switch")).to_have_attribute("aria-checked", "false")
    assert lab.errors == []


_UNSURE = """%%step {program}
import openai
from agentstepper_nb.models.scripted import Script, ScriptedCall, ScriptedServer, ScriptRule, always, say
ls = ScriptedCall("ls", {{"path": "src"}})
replies = iter([ls, say("I am done."), ls, say("Hm."), ls, say("Hm.")])
with ScriptedServer(Script("unsure", [ScriptRule(always, lambda _: next(replies))])) as server:
    with openai.OpenAI(base_url=server.base_url, api_key="any") as client:
        ask = dbg.traced_llm(client.chat.completions.create)
        first = ask(model="m", messages=[{{"role": "user", "content": "What next?"}}])
        print("first", first.choices[0].message.content)
        second = ask(model="m", messages=[{{"role": "user", "content": "And then?"}}])
        print("second", second.choices[0].message.tool_calls[0].function.name)
    print("asked", len(server.exchanges))
"""


@pytest.mark.slow
def test_a_person_asks_a_query_again_and_takes_one_of_the_answers(new_lab: NewLab) -> None:
    program = f"unsure-{next(_numbers)}"
    lab = new_lab(["%load_ext agentstepper_nb", _UNSURE.format(program=program)])
    lab.run(0)
    expect(lab.prompt(0)).to_have_text("[1]:", timeout=60_000)
    lab.run(1)
    view = lab.view(1)
    view.expect_state("Halted before LLM query", timeout=60_000)
    root = view.root

    # By keys alone.
    root.get_by_role("button", name="Resample…").focus()
    lab.page.keyboard.press("Enter")
    form = root.get_by_role("form", name="Answers of the same query, asked again")
    count = form.get_by_label("How often to ask again")
    count.fill("21")
    expect(form.get_by_role("status")).to_contain_text("Write a number from 1 to 20")
    count.fill("3")
    expect(form.get_by_role("status")).to_contain_text("This makes 3 LLM queries")
    count.press("Enter")
    groups = form.get_by_role("listitem")
    expect(groups).to_have_count(2)
    expect(form).to_contain_text("3 answers, 2 kinds")
    expect(groups.nth(0)).to_contain_text("2 ×Calls ls(src)")
    expect(groups.nth(1)).to_contain_text("1 ×I am done.")
    expect_clean(lab.page)
    lab.page.keyboard.press("Escape")
    expect(form).to_have_count(0)
    root.get_by_role("button", name="Resample…").click()
    groups.nth(1).get_by_role("button", name="1 ×").click()
    groups.nth(1).get_by_role("button", name="Take this answer").click()
    view.expect_state("Halted after LLM query")
    view.press("Step")

    # At a query's end an answer becomes the edit.
    view.expect_state("Halted before LLM query")
    view.press("Step")
    view.expect_state("Halted after LLM query")
    root.get_by_role("button", name="Resample…").click()
    form.get_by_label("How often to ask again").fill("2")
    form.get_by_role("button", name="Ask 2 times").click()
    taken = groups.filter(has_text="Calls ls(src)")
    taken.get_by_role("button", name="1 ×").click()
    taken.get_by_role("button", name="Take this answer").click()
    view.press("Step with edit")
    view.expect_state("Finished")
    output = lab.outputs(1).last
    expect(output).to_contain_text("first I am done.")
    expect(output).to_contain_text("second ls")
    expect(output).to_contain_text("asked 6")
    assert lab.errors == []
