"""Real kernels of several versions of ipykernel, with no Core but their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from tests.helpers.sampling import select_sample
from tests.kernels.front import Frontend
from tests.widgets.kernel import Kernel

ROOT = Path(__file__).parents[2]
#: Made by `make kernels`.
KERNELS = ROOT / ".make" / "kernels" / "share" / "jupyter" / "kernels"
#: What scripts/kernels.py installs.
SERIES = ("6.31", "7.3", "7.4")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which no Core is to be found."""
    folder = tmp_path_factory.mktemp("jupyter")
    ours = {
        "JPY_SESSION_NAME": "/home/me/My notebook.ipynb",
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "IPYTHONDIR": str(folder / "ipython"),
    }
    without = ("AGENTSTEPPER_", "JPY_", "PYTEST_", "PYTHONPATH")
    return {k: v for k, v in os.environ.items() if not k.startswith(without)} | ours


@pytest.fixture(scope="module", params=select_sample(SERIES, "6.31", "7.4"))
def kernel(
    request: pytest.FixtureRequest,
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Kernel]:
    name = f"ipykernel-{request.param}"
    if not (KERNELS / name).is_dir():
        pytest.fail(f"The kernel {name} isn't installed: run `make kernels`.")
    specs = KernelSpecManager(kernel_dirs=[str(KERNELS)])
    manager = KernelManager(kernel_name=name, kernel_spec_manager=specs)
    kernel = Kernel(environment, str(tmp_path_factory.mktemp("kernel")), manager)
    try:
        yield kernel
    finally:
        kernel.close()


@pytest.fixture
def front(kernel: Kernel) -> Frontend:
    """A front end at a kernel that has loaded the magics."""
    front = Frontend(kernel)
    assert front.run("%load_ext agentstepper_nb").status == "ok"
    return front


@pytest.fixture
def series(kernel: Kernel) -> str:
    """Which ipykernel it is."""
    return str(kernel.manager.kernel_name).removeprefix("ipykernel-")


@pytest.fixture
def subshell(front: Frontend, series: str) -> str | None:
    """Where a front end sends comm messages: to a subshell where the kernel has them."""
    return None if series == "6.31" else front.make_subshell()
