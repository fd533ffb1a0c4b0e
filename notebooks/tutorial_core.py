"""A Core that the tutorials' kernels find as in JupyterLab, and a driver that presses its buttons."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentstepper_nb import discover
from agentstepper_nb.hub import AgentStepperCore
from scripts.demo import KERNELSPECS

from .driver import Driver


@contextmanager
def serve_tutorials() -> Iterator[None]:
    """Run a Core and a driver; kernels that start meanwhile find the Core by their environment.

    What is stored and announced stays out of the home folder.
    """
    with tempfile.TemporaryDirectory(prefix="agentstepper-notebooks-") as name:
        folder = Path(name)
        os.environ["JUPYTER_PATH"] = str(KERNELSPECS)
        for variable in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            os.environ[variable] = str(folder / variable)
        with AgentStepperCore("127.0.0.1", 0, 0, data=discover.data_dir()) as core:
            assert core.ui_port is not None
            url, ui_url = core.url(core.client_port), core.url(core.ui_port)
            os.environ[discover.URL_VARIABLE] = url
            os.environ[discover.AGENT_TOKEN_VARIABLE] = core.tokens.agent
            os.environ[discover.CONTROL_TOKEN_VARIABLE] = core.tokens.control
            announced = discover.write_core_info(
                url=url, ui_url=ui_url, data_dir=discover.data_dir()
            )
            driver = Driver(ui_url)
            driver.start()
            yield
            driver.stop()
            discover.remove_core_info(announced)
