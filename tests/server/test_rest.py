"""`/agentstepper/api/runs…`, and that every route of the extension asks who is there."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import zlib
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError, HTTPResponse
from traitlets import TraitError

from agentstepper_nb.hub.run_imports import RunImporter
from agentstepper_nb.server_ext import AgentStepperExtension
from agentstepper_nb.server_ext.run_handlers import make_disposition
from tests.helpers.endless_file import EndlessLoader

RECORDED = Path(__file__).parents[1] / "wire" / "recorded.run"
ABSENT = "00000000-0000-7000-8000-000000000000"


class RunsApi:
    """Calls the runs' endpoints."""

    def __init__(self, fetch: Any) -> None:
        self._fetch = fetch

    async def __call__(self, method: str, *path: str, **kwargs: Any) -> HTTPResponse:
        if method in ("POST", "PATCH"):
            kwargs.setdefault("body", b"")
        parts = ("agentstepper", "api", "runs", *path)
        return await self._fetch(*parts, method=method, **kwargs)

    async def fetch_refusal(self, method: str, *path: str, **kwargs: Any) -> tuple[int, str]:
        """The status and code of a refusal, whose text says something."""
        with pytest.raises(HTTPClientError) as caught:
            await self(method, *path, **kwargs)
        assert caught.value.response is not None
        answer = json.loads(caught.value.response.body)
        assert answer.keys() == {"code", "message"}
        assert answer["message"]
        return caught.value.code, answer["code"]


@pytest.fixture
def api(extension: Any, jp_fetch: Any) -> RunsApi:
    return RunsApi(jp_fetch)


async def imported(api: RunsApi) -> dict[str, Any]:
    response = await api("POST", "import", body=RECORDED.read_bytes())
    assert response.code == 201
    run: dict[str, Any] = json.loads(response.body)
    return run


async def test_list(api: RunsApi) -> None:
    assert json.loads((await api("GET")).body) == {"runs": [], "more": 0}
    run = await imported(api)
    response = await api("GET")
    assert response.headers["Content-Type"].startswith("application/json")
    assert json.loads(response.body) == {"runs": [run], "more": 0}


async def test_the_list_by_pages(api: RunsApi) -> None:
    runs = [await imported(api) for _ in range(3)]
    last = json.loads((await api("GET", params={"limit": 2})).body)
    assert last == {"runs": runs[1:], "more": 1}
    first = json.loads((await api("GET", params={"before": runs[1]["id"]})).body)
    assert first == {"runs": runs[:1], "more": 0}
    assert await api.fetch_refusal("GET", params={"before": ABSENT}) == (404, "unknown_run")
    assert await api.fetch_refusal("GET", params={"limit": 0}) == (400, "invalid_message")


async def test_rows_by_pages(api: RunsApi) -> None:
    run = await imported(api)
    whole = json.loads((await api("GET", run["id"])).body)["rows"]

    async def rows(**params: Any) -> list[Any]:
        page = json.loads((await api("GET", run["id"], "rows", params=params)).body)
        assert page["run"] == run["id"]
        return page["rows"]  # type: ignore[no-any-return]

    assert await rows() == whole
    assert await rows(first=2, last=4) == whole[1:4]
    assert await rows(first=3) == whole[2:]
    assert await rows(last=3, around=whole[4]["id"]) == whole[3:6]
    for params in ({"last": 501}, {"first": -1}, {"first": "x"}):
        refused = await api.fetch_refusal("GET", run["id"], "rows", params=params)
        assert refused == (400, "invalid_message")
    refused = await api.fetch_refusal("GET", run["id"], "rows", params={"around": ABSENT})
    assert refused == (404, "unknown_content")


async def test_one(api: RunsApi) -> None:
    run = await imported(api)
    one = json.loads((await api("GET", run["id"])).body)
    assert one["run"] == run
    assert len(one["rows"]) == run["rows"] > 0
    assert [row["seq"] for row in one["rows"]] == sorted(row["seq"] for row in one["rows"])
    titles = [commit["title"] for commit in one["commits"] if commit["changes"]]
    assert len(titles) == run["commits"] > 0
    assert all(change["body"] is None for c in one["commits"] for change in c["changes"])


async def test_rename(api: RunsApi) -> None:
    run = await imported(api)
    response = await api("PATCH", run["id"], body=json.dumps({"name": "Ünïque"}))
    assert json.loads(response.body)["name"] == "Ünïque"
    assert json.loads((await api("GET", run["id"])).body)["run"]["name"] == "Ünïque"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "malformed"),
        ("{", "malformed"),
        (b"\xff", "malformed"),
        ('{"x": ' + "[" * 100_000, "malformed"),
        ("[]", "invalid_message"),
        ("{}", "invalid_message"),
        ('{"name": 1}', "invalid_message"),
    ],
)
async def test_rename_with_a_bad_body(api: RunsApi, body: str | bytes, code: str) -> None:
    run = await imported(api)
    assert await api.fetch_refusal("PATCH", run["id"], body=body) == (400, code)


async def test_delete(api: RunsApi) -> None:
    run = await imported(api)
    assert (await api("DELETE", run["id"])).code == 204
    assert await api.fetch_refusal("GET", run["id"]) == (404, "unknown_run")


async def test_a_live_run_is_not_deleted(api: RunsApi, new_agent: Any) -> None:
    agent = await new_agent()
    assert await api.fetch_refusal("DELETE", agent.run) == (409, "run_is_live")


@pytest.mark.parametrize("run", [ABSENT, "%2e%2e", "a%00b", "%F0%9F%98%80"])
async def test_unknown_runs(api: RunsApi, run: str) -> None:
    body = json.dumps({"name": "x"})
    assert await api.fetch_refusal("GET", run) == (404, "unknown_run")
    assert await api.fetch_refusal("PATCH", run, body=body) == (404, "unknown_run")
    assert await api.fetch_refusal("DELETE", run) == (404, "unknown_run")
    assert await api.fetch_refusal("GET", run, "export") == (404, "unknown_run")


async def test_export_and_import_again(api: RunsApi) -> None:
    run = await imported(api)
    exported = await api("GET", run["id"], "export")
    assert exported.headers["Content-Type"] == "application/octet-stream"
    assert exported.headers["Content-Disposition"].startswith("attachment; ")
    again = await api("POST", "import", body=exported.body)
    as_json = await api(
        "POST",
        "import",
        body=json.dumps({"data": exported.body.decode()}),
        headers={"Content-Type": "application/json"},
    )
    ids = {run["id"], json.loads(again.body)["id"], json.loads(as_json.body)["id"]}
    assert len(ids) == 3


def run_file(value: object) -> bytes:
    return base64.b64encode(zlib.compress(json.dumps(value).encode()))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "corrupt_import"),
        (b"\0\1\2", "corrupt_import"),
        (RECORDED.read_bytes()[:200], "corrupt_import"),
        (run_file([]), "corrupt_import"),
    ],
)
async def test_import_of_no_run_file(api: RunsApi, body: bytes, code: str) -> None:
    assert await api.fetch_refusal("POST", "import", body=body) == (400, code)


async def test_an_import_ends_with_its_connection(
    extension: Any, http_server_client: Any, jp_base_url: str, jp_auth_header: dict[str, str]
) -> None:
    loader = EndlessLoader()
    extension.hub._imports = RunImporter(loader)
    _, writer = await asyncio.open_connection("127.0.0.1", http_server_client.get_http_port())
    head = [f"POST {jp_base_url}agentstepper/api/runs/import HTTP/1.1", "Host: localhost"]
    head += [f"{name}: {value}" for name, value in jp_auth_header.items()]
    writer.write("\r\n".join([*head, "Content-Length: 7", "", "endless"]).encode())
    assert await asyncio.to_thread(loader.begun.wait, 30)
    writer.close()
    assert await asyncio.to_thread(loader.ended.wait, 30)
    assert extension.hub.runs() == []


async def test_import_of_a_newer_file(api: RunsApi) -> None:
    file = json.loads(zlib.decompress(base64.b64decode(RECORDED.read_bytes())))
    file["server_version"] = "999.0.0"
    assert await api.fetch_refusal("POST", "import", body=run_file(file)) == (400, "newer_import")


async def test_import_of_json_that_lacks_the_file(api: RunsApi) -> None:
    headers = {"Content-Type": "application/json"}
    refusal = await api.fetch_refusal("POST", "import", body="{}", headers=headers)
    assert refusal == (400, "invalid_message")


@pytest.mark.parametrize("max_message_bytes", [1024])
async def test_oversized_bodies(api: RunsApi) -> None:
    assert await api.fetch_refusal("POST", "import", body=b"x" * 1025) == (413, "too_large")
    assert await api.fetch_refusal("PATCH", ABSENT, body=b"x" * 1025) == (413, "too_large")
    assert await api.fetch_refusal("POST", "import", body=b"x" * 1024) == (400, "corrupt_import")


@pytest.mark.parametrize(("method", "path"), [("PUT", ABSENT), ("POST", ABSENT), ("GET", "import")])
async def test_methods_that_are_not_there(api: RunsApi, method: str, path: str) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await api(method, path, body=None if method == "GET" else b"")
    assert caught.value.code in (404, 405)


# ---- who gets in -----------------------------------------------------------------------------------

ROUTES = [
    ("GET", ()),
    ("GET", (ABSENT,)),
    ("PATCH", (ABSENT,)),
    ("DELETE", (ABSENT,)),
    ("GET", (ABSENT, "export")),
    ("POST", ("import",)),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_without_a_login(api: RunsApi, method: str, path: tuple[str, ...]) -> None:
    headers = {"Authorization": "token wrong"}
    status, code = await api.fetch_refusal(method, *path, headers=headers)
    assert (status, code) in {(403, "unauthorized"), (403, "foreign_origin")}


@pytest.mark.parametrize("granted", [set()])
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_without_any_right(api: RunsApi, method: str, path: tuple[str, ...]) -> None:
    assert await api.fetch_refusal(method, *path) == (403, "watch_only")


@pytest.mark.parametrize("granted", [{"read"}])
async def test_with_the_right_to_watch(
    api: RunsApi, new_agent: Any, extension: Any, jp_auth_header: Any
) -> None:
    run = (await extension.hub.import_run(RECORDED.read_bytes())).id
    for path in ((), (run,), (run, "export")):
        assert (await api("GET", *path)).code == 200
    body = json.dumps({"name": "x"})
    assert await api.fetch_refusal("PATCH", run, body=body) == (403, "watch_only")
    assert await api.fetch_refusal("DELETE", run) == (403, "watch_only")
    refusal = await api.fetch_refusal("POST", "import", body=RECORDED.read_bytes())
    assert refusal == (403, "watch_only")
    assert extension.hub.run(run).name != "x"


async def test_a_cookie_alone_changes_nothing(api: RunsApi, jp_fetch: Any) -> None:
    """As of a page of another site that makes the browser send a form."""
    login = await jp_fetch("api", "status")
    cookie = "; ".join(each.partition(";")[0] for each in login.headers.get_list("Set-Cookie"))
    headers = {"Cookie": cookie, "Authorization": "none"}
    assert (await api("GET", headers=dict(headers))).code == 200
    refusal = await api.fetch_refusal("DELETE", ABSENT, headers=dict(headers))
    assert refusal == (403, "foreign_origin")


# ---- a file's name ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "plain", "whole"),
    [
        ("fix tests 3", "fix tests 3.run", "fix%20tests%203.run"),
        ("a.run", "a.run", "a.run"),
        ("Ü", "_.run", "%C3%9C.run"),
        ("../../etc/passwd", "_.._etc_passwd.run", "%2F..%2Fetc%2Fpasswd.run"),
        ('a"\r\nSet-Cookie: x', "a___Set-Cookie_ x.run", "a%22%0D%0ASet-Cookie%3A%20x.run"),
        ("", "run.run", "run.run"),
        ("\ud800", "_.run", "%3F.run"),
    ],
)
def test_disposition(name: str, plain: str, whole: str) -> None:
    assert make_disposition(name) == f"attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}"


def test_disposition_of_a_long_name() -> None:
    assert len(make_disposition("x" * 10_000)) < 300


async def test_internal_errors_say_nothing_of_the_inside(
    api: RunsApi, extension: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(extension.hub, "runs", broken)
    assert await api.fetch_refusal("GET") == (500, "internal")


async def test_a_run_can_be_exported_while_it_lives(
    api: RunsApi, new_agent: Any, new_ui: Any
) -> None:
    agent, ui = await new_agent(), await new_ui()
    await ui.exchange_hello()
    await ui.wait_until_pending(await agent.begin_query())
    exported = await api("GET", agent.run, "export")
    assert (await api("POST", "import", body=exported.body)).code == 201


# ---- what is kept ----------------------------------------------------------------------------------


async def test_tags(api: RunsApi) -> None:
    run = await imported(api)
    response = await api("PATCH", run["id"], body=json.dumps({"tags": ["slow", "slow", "mine"]}))
    assert json.loads(response.body)["tags"] == ["slow", "mine"]
    both = json.dumps({"tags": [], "name": "other"})
    told = json.loads((await api("PATCH", run["id"], body=both)).body)
    assert (told["tags"], told["name"]) == ([], "other")
    for tags in ([""], ["t"] * 21, "slow"):
        body = json.dumps({"tags": tags})
        assert await api.fetch_refusal("PATCH", run["id"], body=body) == (400, "invalid_message")


async def test_an_archive_comes_back_whole(api: RunsApi) -> None:
    run = await imported(api)
    await api("PATCH", run["id"], body=json.dumps({"tags": ["mine"]}))
    response = await api("GET", run["id"], "export", params={"format": "archive"})
    assert response.body.startswith(b"PK")
    assert ".agentstepper.zip" in response.headers["Content-Disposition"]
    taken = json.loads((await api("POST", "import", body=response.body)).body)
    assert (taken["tags"], taken["rows"], taken["id"] == run["id"]) == (
        ["mine"],
        run["rows"],
        False,
    )
    refused = await api.fetch_refusal("GET", run["id"], "export", params={"format": "pickle"})
    assert refused == (400, "invalid_message")


async def test_search(api: RunsApi, jp_fetch: Any) -> None:
    run = await imported(api)

    async def search(**params: str) -> Any:
        return await jp_fetch("agentstepper", "api", "search", method="GET", params=params)

    found = json.loads((await search(q="recorder")).body)
    assert {hit["run"] for hit in found["hits"]} == {run["id"]}
    none = json.loads((await search(q="recorder nowhere", run=run["id"])).body)
    assert none == {"hits": [], "more": False}
    assert len(json.loads((await search(q="recorder", limit="1")).body)["hits"]) == 1
    for params, status, code in (
        ({"q": "x", "limit": "501"}, 400, "invalid_message"),
        ({"q": "x", "limit": "all"}, 400, "invalid_message"),
        ({}, 400, "invalid_search"),
        ({"q": "x", "run": ABSENT}, 404, "unknown_run"),
    ):
        with pytest.raises(HTTPClientError) as refused:
            await search(**params)
        assert refused.value.response is not None
        told = json.loads(refused.value.response.body)
        assert (refused.value.code, told["code"]) == (status, code)


def test_a_folder_that_another_server_has_is_left_to_it(
    extension: AgentStepperExtension, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    second = AgentStepperExtension(data_dir=str(tmp_path / "kept"), log=logging.getLogger("second"))
    with caplog.at_level(logging.WARNING):
        store = second._open_store()
    try:
        folder, _ = second._folder_and_lock
        assert folder == tmp_path / "kept" / "2"
        assert second.tokens.agent == (folder / "agent-token").read_text().strip()
        said = caplog.text
        assert f"the runs in {tmp_path / 'kept'} belong to the Jupyter server in " in said
        assert f"stores its own runs in {folder}" in said
    finally:
        store.close()


@pytest.mark.parametrize("trait", ["keep_days", "keep_gib", "keep_sessions"])
def test_what_is_kept_for_no_time_is_refused(trait: str) -> None:
    with pytest.raises(TraitError, match=f"{trait} must be above 0, not 0"):
        AgentStepperExtension(**{trait: 0})
    assert getattr(AgentStepperExtension(**{trait: 2}), trait) == 2


@pytest.mark.parametrize(
    ("trait", "wrong"),
    [("worker_isolation", "thread"), ("worker_processes", 0), ("worker_processes", 1001)],
)
def test_how_a_worker_isolates_is_checked(trait: str, wrong: Any) -> None:
    with pytest.raises(TraitError):
        AgentStepperExtension(**{trait: wrong})
