"""The widget of a chat: what travels, also while the main thread is busy, what stands where it can't be
shown, and what its end leaves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from agentstepper_nb import Chat, ChatWidget, discover
from agentstepper_nb.chat.outputs import confirmation
from agentstepper_nb.widgets import chat_widget as widgets
from agentstepper_nb.widgets import kernel_core

TIMEOUT_S = 30
HELLO = {"version": 1, "worker": "test", "pid": 0, "services": []}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Core is to be found."""
    for name in (
        discover.URL_VARIABLE,
        discover.AGENT_TOKEN_VARIABLE,
        discover.CONTROL_TOKEN_VARIABLE,
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))


def parrot(message: str) -> str:
    return f"You said: {message}"


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    with Chat(parrot, data_dir=tmp_path, debugger=False) as chat:
        yield chat


class ChatWidgetClient:
    """What a browser does with a widget.

    Args:
        widget: The widget; what it posts comes here.
    """

    def __init__(self, widget: ChatWidget, monkeypatch: pytest.MonkeyPatch) -> None:
        self.widget = widget
        self._posted: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._texts: list[str] = []
        self._n = 0
        monkeypatch.setattr(widget, "send", self._posted.put)

    def open_link(self) -> None:
        self._receive({"op": "open"})
        self.send_message("hello", HELLO)

    def request(self, id: str, method: str, window: int = 0, **params: Any) -> None:
        body = {"service": "chat", "method": method, "params": params, "window": window}
        self.send_message("request", body, id)

    def send_message(self, kind: str, body: dict[str, Any], id: str | None = None) -> None:
        self._n += 1
        named = {} if id is None else {"id": id}
        text = json.dumps({"n": self._n, "type": kind, "body": body} | named)
        self._receive({"op": "text", "text": text})

    def list_received(self, id: str) -> dict[str, Any]:
        """The next message that answers a request."""
        while (message := self.receive()).get("id") != id:
            pass
        told: dict[str, Any] = message["body"]["value"]
        return told

    def receive_until(self, id: str, there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The event of a watched session that something holds for."""
        event: dict[str, Any] = self.list_received(id)["event"]
        while not there(event):
            event = self.list_received(id)["event"]
        return event

    def receive(self) -> dict[str, Any]:
        while not self._texts:
            self._texts = list(self.closed_or_texts()["texts"])
        message: dict[str, Any] = json.loads(self._texts.pop(0))
        return message

    def closed_or_texts(self) -> dict[str, Any]:
        return self._posted.get(timeout=TIMEOUT_S)

    def silent(self) -> bool:
        return self._posted.empty()

    def _receive(self, content: dict[str, Any]) -> None:
        self.widget._received(None, {"link": "a"} | content, [])


@pytest.fixture
def view(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatWidgetClient]:
    widget = ChatWidget(chat)
    yield ChatWidgetClient(widget, monkeypatch)
    widget.close()


def test_a_view_is_told_the_conversation_and_takes_part(view: ChatWidgetClient, chat: Chat) -> None:
    chat.send("Hello")
    view.open_link()
    assert view.receive()["type"] == "welcome"
    view.request("w", "watch", 64, session=chat.session_id)
    begin = view.list_received("w")
    assert begin["n"] == 1
    assert [said["content"] for said in begin["event"]["messages"]] == ["Hello", "You said: Hello"]
    view.request("s", "send", session=chat.session_id, content="Again")
    view.receive_until(
        "w", lambda event: event.get("message", {}).get("content") == "You said: Again"
    )
    assert chat.messages[-1].content == "You said: Again"


def test_a_question_waits_for_a_choice_that_is_made_in_the_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careful(message: str) -> Any:
        choice = yield confirmation("Really?")
        yield f"It was {choice}."

    with Chat(careful, data_dir=tmp_path, debugger=False) as chat:
        view = ChatWidgetClient(ChatWidget(chat), monkeypatch)
        asked = chat.send("Go")
        assert (
            chat.pending_confirmation is not None and asked[-1].id == chat.pending_confirmation.id
        )
        view.open_link()
        view.request("w", "watch", 64, session=chat.session_id)
        begin = view.list_received("w")["event"]
        assert begin["session"]["waiting"] == chat.pending_confirmation.id
        view.request(
            "c",
            "choose",
            session=chat.session_id,
            message=chat.pending_confirmation.id,
            choice="Yes",
        )
        view.receive_until(
            "w", lambda event: event.get("message", {}).get("content") == "It was Yes."
        )
        view.widget.close()


def test_nothing_that_is_said_is_state_that_front_ends_save(chat: Chat) -> None:
    chat.send("Secret")
    widget = ChatWidget(chat, height=300)
    inherited = {"layout", "tabbable", "tooltip"}
    state = {k: v for k, v in widget.get_state().items() if not k.startswith("_")}
    assert {key: state[key] for key in state.keys() - inherited} == {
        "session": chat.session_id,
        "height": 300,
        "direct": False,
        "page": "",
        "command": "agentstepper step --run {run}",
    }
    widget.close()


def test_it_shows_the_conversation_that_the_chat_has_when_it_is_displayed(chat: Chat) -> None:
    widget = ChatWidget(chat)
    chat.new_session("Another")
    assert widget.session != chat.session_id
    widget._repr_mimebundle_()
    assert widget.session == chat.session_id
    widget.close()


def test_where_no_view_is_shown_the_last_messages_are_listed(chat: Chat) -> None:
    for n in range(6):
        chat.send(f"Message {n}\x1b[31m\u202e")
    widget = ChatWidget(chat)
    bundle, _ = widget._repr_mimebundle_() or ({}, {})
    first, *said, last = bundle["text/plain"].splitlines()
    assert first.startswith("<Chat")
    assert len(said) == widgets._MAX_LISTED_MESSAGES
    assert said[-1].startswith("parrot: You said: Message 5")
    assert "\x1b" not in bundle["text/plain"]
    assert "\u202e" not in bundle["text/plain"]
    assert "JupyterLab" in last
    widget.close()


def test_where_the_conversation_was_deleted_nothing_is_listed(
    view: ChatWidgetClient, chat: Chat
) -> None:
    chat.send("Hello")
    view.open_link()
    view.request("r", "remove", session=chat.session_id)
    assert view.receive()["type"] == "welcome"
    assert view.receive()["type"] == "result"
    first, last = repr(view.widget).splitlines()
    assert first.startswith("<Chat")
    assert "JupyterLab" in last


def test_to_close_the_widget_leaves_the_chat(view: ChatWidgetClient, chat: Chat) -> None:
    view.open_link()
    assert view.receive()["type"] == "welcome"
    view.widget.close()
    assert [said.content for said in chat.send("Still there?")] == ["You said: Still there?"]
    assert view.silent()


def test_a_chat_that_is_closed_is_said_to_its_views_with_what_to_do(
    view: ChatWidgetClient, chat: Chat
) -> None:
    view.open_link()
    assert view.receive()["type"] == "welcome"
    chat.close()
    closed = view.closed_or_texts()
    assert (closed["op"], closed["code"]) == ("closed", 1008)
    assert "can be opened from the list" in closed["reason"]
    view.open_link()  # a view that comes later
    assert view.closed_or_texts() == closed
    assert "closed" in repr(view.widget)


def test_a_message_of_no_view_does_no_harm(view: ChatWidgetClient, chat: Chat) -> None:
    view.widget._received(None, {"link": 7}, [])
    view.widget._received(None, "what?", [])
    chat.close()
    view.widget._received(None, {"link": 7}, [])
    view.widget._received(None, "what?", [])
    assert view.silent()


def test_agents_are_given_as_a_chat_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    widget = ChatWidget(parrot)
    with widget.chat as chat:
        assert [agent.name for agent in chat.info.agents] == ["parrot"]
        widget.close()


def test_a_chat_and_agents_are_too_many(chat: Chat) -> None:
    with pytest.raises(ValueError, match="one Chat, or agents"):
        ChatWidget(chat, parrot)


def test_where_the_core_is_in_this_kernel_its_view_is_a_cell_away(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_core, "get_kernel_core", object)
    widget = ChatWidget(chat)
    assert widget.command == "%agentstepper"
    widget.close()


def test_a_core_that_begins_later_is_found_before_its_run_is_looked_for(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = ChatWidget(chat)
    view = ChatWidgetClient(widget, monkeypatch)
    view.open_link()
    assert widget.command == "agentstepper step --run {run}"
    monkeypatch.setattr(kernel_core, "get_kernel_core", object)
    view.request("1", "send", session=chat.session_id, content="Hello!")
    assert widget.command == "%agentstepper"
    widget.close()


def test_runs_are_shown_by_the_kernels_own_server(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = discover.CoreEndpoint("ws://127.0.0.1:8888/user/ada/agentstepper/agent")
    url = "ws://127.0.0.1:8888/user/ada/agentstepper/runtime"
    monkeypatch.setattr(discover, "find_own_core", lambda: own)
    monkeypatch.setattr(discover, "find_runtime_endpoint", lambda: discover.CoreEndpoint(url))
    widget = ChatWidget(chat)
    assert (widget.direct, widget.page) == (True, "http://127.0.0.1:8888/user/ada/")
    widget.close()
