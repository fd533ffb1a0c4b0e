"""The stack and the locals of a halted agent, in the view: on its page, and in JupyterLab's panel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from .axe import expect_clean
from .conftest import NewLab
from .jupyter import Jupyter
from .lab import DebuggerView, open_page
from .test_panel import open_panel
from .test_several_agents import choose

AGENT = """\
import sys

from agentstepper_nb import AgentStepper


def ask(dbg, question, api_key):
    words = {"question": question, "parts": question.split()}
    with dbg.llm(words) as query:
        query.response = "an answer"


with AgentStepper(sys.argv[1], stop_on_entry=False) as dbg:
    ask(dbg, "why is it so", "-".join(["sk", "very", "secret"]))
"""


@contextmanager
def running(jupyter: Jupyter, program: str) -> Iterator[Path]:
    """The agent in a process of its own; gives its file, in the folder that the server shows."""
    file = jupyter.folder / f"{program}.py"
    file.write_text(AGENT)
    process = subprocess.Popen([sys.executable, str(file), program], env=jupyter.environment())
    try:
        yield file
    finally:
        process.kill()
        process.wait()


def open_stack(view: DebuggerView, program: str) -> Locator:
    """The stack of a program's agent, which is halted."""
    choose(view, program)
    view.expect_state("Halted before LLM query")
    view.root.get_by_role("tab", name="Stack").click()
    stack = view.root.locator(".as-Stack")
    expect(stack).to_be_visible()
    return stack


def test_stack_locals_and_expressions(context: BrowserContext, jupyter: Jupyter) -> None:
    with running(jupyter, "looked_at"):
        page, view = open_page(context, jupyter)
        stack = open_stack(view, "looked_at")
        expect(view.root.locator(".as-mod-halted .as-Row-where")).to_have_text("looked_at.py:8")
        frames = stack.get_by_role("region", name="Stack", exact=True)
        expect(frames.get_by_role("button", name="ask")).to_have_attribute("aria-current", "true")
        expect(stack.locator(".as-Source-line[aria-current]")).to_contain_text(
            "with dbg.llm(words) as query:"
        )
        names = stack.get_by_role("region", name="Locals")
        expect(names).to_contain_text("[masked api_key]")
        names.get_by_role("button", name="words").click()
        names.get_by_title("'parts': list").click()
        expect(names).to_contain_text("'why'")
        field = stack.get_by_role("combobox", name="Expression")
        field.fill("len(questio")
        field.press("Tab")
        expect(field).to_have_value("len(question")
        field.press_sequentially(".split())")
        field.press("Enter")
        log = stack.get_by_role("log")
        expect(log).to_contain_text("4")
        field.fill("question = 1")
        field.press("Enter")
        expect(log).to_contain_text("Only expressions can be evaluated here")
        expect(stack).to_contain_text("runs in a process of its own, which has no notebook")
        expect_clean(page)
        assert "sk-very-secret" not in view.root.inner_text()
        view.press("Step")
        view.expect_state("Halted after LLM query")
        # The stack goes with the halt.
        expect(stack).to_contain_text("query.response")


@pytest.mark.slow
def test_the_file_opens_in_jupyterlabs_editor(own_lab: NewLab, jupyter: Jupyter) -> None:
    with running(jupyter, "opened"):
        lab = own_lab(["1"])
        stack = open_stack(open_panel(lab), "opened")
        stack.get_by_role("button", name="opened.py:8").last.click()
        editor = lab.page.locator(".jp-FileEditor")
        expect(editor).to_contain_text("def ask(dbg, question, api_key):")
        expect(lab.page.locator("#jp-bottom-panel")).to_contain_text("Ln 8, Col 1")
