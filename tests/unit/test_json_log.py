"""A log of JSON objects: what stands in each, and how a worker's lines become the Core's."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from agentstepper_nb.json_log import (
    MAX_MESSAGE_CHARS,
    MAX_TRACEBACK_CHARS,
    JsonLogFormatter,
    add_log_fields,
    forward_line,
    set_log_fields,
)


class JsonLog:
    """A logger, and what it has logged."""

    def __init__(self, name: str) -> None:
        self._output = io.StringIO()
        self.log = logging.getLogger(name)
        self.log.propagate = False
        self.log.setLevel(logging.DEBUG)
        handler = logging.StreamHandler(self._output)
        handler.setFormatter(JsonLogFormatter())
        self.log.handlers = [handler]

    def text(self) -> str:
        return self._output.getvalue()

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text().splitlines()]


@pytest.fixture
def logged(request: pytest.FixtureRequest) -> Iterator[JsonLog]:
    made = JsonLog(f"agentstepper_nb.{request.node.name}")
    yield made
    made.log.handlers = []


def test_record_is_one_object_on_one_line(logged: JsonLog) -> None:
    logged.log.warning("two\nlines of %s \x1b[31m", "Zoë")
    assert logged.text().count("\n") == 1
    assert logged.text().isascii()
    (line,) = logged.lines()
    assert line == {
        "time": line["time"],
        "level": "warning",
        "logger": logged.log.name,
        "message": "two\nlines of Zoë \x1b[31m",
    }


def test_time_is_utc(logged: JsonLog) -> None:
    record = logging.LogRecord("a", logging.INFO, "", 0, "x", None, None)
    record.created = 86_400.0625
    assert json.loads(JsonLogFormatter().format(record))["time"] == "1970-01-02T00:00:00.062Z"


def test_traceback_is_a_field(logged: JsonLog) -> None:
    try:
        raise ValueError("no tea")
    except ValueError:
        logged.log.exception("it failed")
    (line,) = logged.lines()
    assert (line["message"], line["level"]) == ("it failed", "error")
    assert line["exc"].startswith("Traceback")
    assert line["exc"].endswith("ValueError: no tea")


def test_long_record_is_cut_where_least_is_lost(logged: JsonLog) -> None:
    try:
        raise ValueError("x" * MAX_TRACEBACK_CHARS + "the end")
    except ValueError:
        logged.log.exception("%s", "the begin" + "\U0001f375" * MAX_MESSAGE_CHARS)
    (line,) = logged.lines()
    assert len(line["message"]) == MAX_MESSAGE_CHARS
    assert line["message"].startswith("the begin")
    assert line["exc"].endswith("the end")
    assert len(logged.text()) < 1024 * 1024  # what the Core reads of a line


def test_ids_are_those_that_the_message_names(logged: JsonLog) -> None:
    logged.log.info("step %d of session %s: %s", 3, "s1", "slow")
    logged.log.info("run %r of %s started", "r1", "tea")
    logged.log.info("plain session")
    named, run, plain = logged.lines()
    assert named["session_id"] == "s1"
    assert run["run_id"] == "r1"
    assert "session_id" not in plain


async def test_ids_are_those_of_the_task(logged: JsonLog) -> None:
    async def work(session: str) -> None:
        set_log_fields(session_id=session)
        await asyncio.sleep(0)
        add_log_fields(run_id=f"run of {session}")
        await asyncio.create_task(tell())

    async def tell() -> None:
        logged.log.info("x")

    await asyncio.gather(work("a"), work("b"))
    logged.log.info("outside")
    *told, outside = logged.lines()
    assert sorted((line["session_id"], line["run_id"]) for line in told) == [
        *(("a", "run of a"), ("b", "run of b"))
    ]
    assert "session_id" not in outside


def test_half_characters_are_no_reason_to_lose_a_line(logged: JsonLog) -> None:
    logged.log.info("tea \ud83c %s", "\ude75")
    assert logged.lines()[0]["message"] == "tea ? ?"


def test_worker_line_is_whole_in_the_cores_log(logged: JsonLog) -> None:
    sent = {
        "time": "2026-01-01T00:00:00.000Z",
        "level": "error",
        "logger": "agentstepper_nb.worker",
        "message": "it failed " + "x" * 5000,
        "session_id": "s",
        "exc": "Traceback\n…",
    }
    assert forward_line(logged.log, json.dumps(sent), 7, "shown")
    assert logged.lines() == [{**sent, "worker": 7}]


@pytest.mark.parametrize("text", ["", "INFO x", "{", "{}", '{"time": 1}', "[1]", "{" * 100_000])
def test_line_that_is_no_record_is_not_taken_for_one(logged: JsonLog, text: str) -> None:
    assert not forward_line(logged.log, text, 7, "shown")
    assert logged.lines() == []
