"""What the local model's process uses of xllamacpp, with a script in the place of a model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentstepper_nb.models.scripted import ScriptedServer, load_script


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )


class Server:
    def __init__(self, params: CommonParams) -> None:
        print("whatever a library prints")
        if noted := os.environ.get("FAKE_NOTES"):
            Path(noted).write_text(json.dumps(plain(params)))
        if not Path(params.model.path).read_text():
            raise RuntimeError("no GGUF in it")
        self._server = ScriptedServer(load_script(params.model.path)).start()

    @property
    def listening_address(self) -> str:
        return self._server.root_url


def plain(value: Any) -> Any:
    match value:
        case SimpleNamespace():
            return {key: plain(inside) for key, inside in vars(value).items()}
        case set():
            return sorted(value)
    return value
