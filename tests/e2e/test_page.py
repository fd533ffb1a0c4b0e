"""The view on a page of its own: drafts, the lost connection, and keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, WebSocketRoute, expect

from .jupyter import ROOT, Jupyter
from .lab import DebuggerView, open_page
from .test_several_agents import agent, api, choose, expect_rows_of_core


def edit_argument(view: DebuggerView, text: str) -> None:
    """Put a text into the field `number` of the pending call."""
    view.press(re.compile("^Edit this"))
    field = view.root.get_by_label("number")
    field.fill(text)
    field.blur()


def test_a_draft_survives_a_reload(context: BrowserContext, jupyter: Jupyter) -> None:
    with agent(jupyter, "drafted"):
        page, view = open_page(context, jupyter)
        choose(view, "drafted")
        view.expect_state("Halted")
        view.press("Step")
        view.expect_state("Halted before tool call")
        edit_argument(view, "41")
        expect(view.button("Step with edit")).to_be_visible()
        page.reload()
        choose(view, "drafted")
        view.press("Step with edit")
        view.expect_state("Halted after tool call")
        expect(view.root.locator(".as-mod-halted")).to_contain_text("41")


@pytest.mark.soak  # test_a_draft_survives_a_reload has the draft, js/tests the other tab
def test_a_draft_is_the_same_in_two_tabs(context: BrowserContext, jupyter: Jupyter) -> None:
    with agent(jupyter, "shared"):
        _, view = open_page(context, jupyter)
        choose(view, "shared")
        view.expect_state("Halted")
        view.press("Step")
        view.expect_state("Halted before tool call")
        _, other = open_page(context, jupyter)
        choose(other, "shared")
        other.expect_state("Halted before tool call")
        edit_argument(view, "41")
        expect(other.button("Step with edit")).to_be_visible()
        expect(other.button("Continue with edit")).to_be_visible()
        edit_argument(other, "42")
        expect(view.root.get_by_label("number")).to_have_value("42")
        other.press("Continue with edit")
        other.expect_state("Finished")
        view.expect_state("Finished")
        expect(view.root.get_by_text("Answered before your edit was sent")).to_have_count(0)
        expect(view.root.get_by_role("treegrid")).to_contain_text("42")


def test_a_part_that_cannot_be_fetched_says_so_and_is_fetched_again(
    context: BrowserContext, jupyter: Jupyter
) -> None:
    contents = re.compile(r"/contents\.\w+\.js")
    context.route(contents, lambda route: route.abort())
    with agent(jupyter, "unfetched"):
        _, view = open_page(context, jupyter)
        choose(view, "unfetched")
        view.expect_state("Halted")
        expect(view.root).to_contain_text("This part of the view could not be loaded")
        expect(view.button("Step")).to_be_enabled()
        context.unroute(contents)
        view.press("Try again")
        expect(view.root).not_to_contain_text("could not be loaded")
        expect(view.root.locator(".as-Message, .as-Alone, .as-Note").first).to_be_visible()


def test_a_note_survives_a_reload(context: BrowserContext, jupyter: Jupyter) -> None:
    with agent(jupyter, "noted"):
        page, view = open_page(context, jupyter)
        choose(view, "noted")
        view.expect_state("Halted")
        view.root.locator(".as-mod-halted").focus()
        page.keyboard.press("n")
        page.keyboard.type("Here it began.")
        page.keyboard.press("Control+Enter")
        note = view.root.get_by_role("note", name="Note on event 1")
        expect(note).to_have_text("Here it began.")
        expect(view.root.get_by_role("button", name="Not stored")).to_have_count(0)
        page.reload()
        choose(view, "noted")
        expect(note).to_have_text("Here it began.")


@pytest.mark.soak  # test_exact_edits has a refused edit, js/tests/inspector the places
def test_invalid_json_is_said_at_its_place_and_not_sent(
    context: BrowserContext, jupyter: Jupyter
) -> None:
    with agent(jupyter, "invalid"):
        _, view = open_page(context, jupyter)
        choose(view, "invalid")
        view.expect_state("Halted")
        view.press("Step")
        view.expect_state("Halted before tool call")
        edit_argument(view, "{")
        expect(view.root).to_contain_text("Not JSON")
        expect(view.button("Step with edit")).to_have_attribute("aria-disabled", "true")
        expect(view.button("Continue with edit")).to_have_attribute("aria-disabled", "true")


def test_the_connection_is_lost_and_found(context: BrowserContext, jupyter: Jupyter) -> None:
    routes: list[WebSocketRoute] = []
    unanswered = [False]

    def through(route: WebSocketRoute) -> None:
        routes.append(route)
        if not unanswered[0]:
            route.connect_to_server()

    context.route_web_socket("**/agentstepper/ui", through)
    with agent(jupyter, "unplugged"):
        _, view = open_page(context, jupyter)
        choose(view, "unplugged")
        view.expect_state("Halted")
        unanswered[0] = True
        routes[-1].close()
        view.expect_state("Connection lost")
        view.expect_state("retrying…")  # by itself, in vain: else it may be faster than the button
        unanswered[0] = False
        view.press("Retry now")
        view.expect_state("Halted")
        view.press("Step")
        expect(view.root.locator(".as-mod-halted .as-Row-n")).to_have_text("2")


def test_keys_step_continue_and_halt(context: BrowserContext, jupyter: Jupyter) -> None:
    with agent(jupyter, "keyed"):
        page, view = open_page(context, jupyter)
        choose(view, "keyed")
        view.expect_state("Halted")
        view.root.locator(".as-mod-halted").focus()
        page.keyboard.press("F10")
        expect(view.root.locator(".as-mod-halted .as-Row-n")).to_have_text("2")
        page.keyboard.press("F9")
        view.expect_state("Finished")


def test_a_run_of_the_original_is_shown(context: BrowserContext, jupyter: Jupyter) -> None:
    recorded = (ROOT / "tests" / "wire" / "recorded.run").read_bytes()
    run = api(jupyter, "runs/import", recorded)["id"]
    _, view = open_page(context, jupyter)
    choose(view, "Recorded run")
    view.expect_state("Ended")
    expect_rows_of_core(view, jupyter, run)
    edited = view.rows().nth(3)
    expect(edited).to_contain_text("write_file")
    edited.click()
    expect(view.root).to_contain_text("two!")
    view.root.get_by_role("tab", name="Changes").click()
    expect(view.root.locator(".as-Diff")).to_contain_text("more")
