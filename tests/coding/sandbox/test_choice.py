"""Which sandbox is chosen, by real runs."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb.coding.sandbox import CommandLaunch, ResourceLimits, SandboxAccess
from agentstepper_nb.coding.sandbox.backend_selection import choose_sandbox, probe_sandbox
from agentstepper_nb.coding.sandbox.bubblewrap import Bubblewrap, find_bubblewrap_programs
from agentstepper_nb.coding.sandbox.launch import Unconfined
from agentstepper_nb.errors import SandboxError
from tests.coding.sandbox.scenes import ROOT
from tests.coding.sandbox.without_userns import without_userns

CHOOSE = """
import sys
from agentstepper_nb.coding.sandbox import ResourceLimits
from agentstepper_nb.coding.sandbox.backend_selection import choose_sandbox
from agentstepper_nb.errors import SandboxError
for choice in sys.argv[1:]:
    try:
        chosen = choose_sandbox(choice, ResourceLimits())
        print(chosen.sandbox.name, *chosen.rejection_reasons, sep="\\n", end="\\0")
    except SandboxError as error:
        print("error", error, sep="\\n", end="\\0")
"""


class LeakySandbox(Bubblewrap):
    """A bubblewrap that holds less than it should."""

    def __init__(self, *, network: bool = False, folder: str = "") -> None:
        super().__init__(find_bubblewrap_programs()[-1], ResourceLimits())
        self._network, self._folder = network, folder

    @contextmanager
    def prepare_command(
        self, argv: Sequence[str], folder: Path, access: SandboxAccess
    ) -> Iterator[CommandLaunch]:
        writable = (access.workspace.parent / self._folder,) if self._folder else ()
        wider = replace(access, hidden=(), has_network=self._network, writable=writable)
        with super().prepare_command(argv, folder, wider) as launch:
            yield launch


@pytest.fixture(scope="module")
def without_user_namespaces() -> dict[str, list[str]]:
    """What is said of each choice on a machine that refuses user namespaces."""
    choices = ("auto", "bubblewrap")
    command = without_userns(sys.executable, "-c", CHOOSE, *choices)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    *texts, rest = done.stdout.split("\0")
    assert rest == ""
    return {choice: text.splitlines() for choice, text in zip(choices, texts, strict=True)}


def test_bubblewrap_is_chosen_where_it_works() -> None:
    chosen = choose_sandbox("auto", ResourceLimits())
    assert chosen.sandbox.name == "bubblewrap"
    assert chosen.rejection_reasons == ()
    assert choose_sandbox("auto", ResourceLimits()).sandbox is chosen.sandbox  # no second run


@pytest.mark.slow
def test_where_user_namespaces_are_refused_another_is_chosen_and_the_reason_said(
    without_user_namespaces: dict[str, list[str]],
) -> None:
    name, why, *_ = without_user_namespaces["auto"]
    assert name != "bubblewrap"
    assert why.startswith("bubblewrap: ")
    assert "namespace" in why


@pytest.mark.slow
def test_what_a_person_names_is_never_replaced_by_a_weaker_one(
    without_user_namespaces: dict[str, list[str]],
) -> None:
    kind, text = without_user_namespaces["bubblewrap"]
    assert kind == "error"
    assert "'bubblewrap' doesn't work" in text
    assert "namespace" in text
    assert "pip install 'agentstepper_nb[sandbox]'" in text


def test_none_is_chosen_by_name() -> None:
    assert choose_sandbox("none", ResourceLimits()).sandbox.name == "none"


def test_another_systems_sandbox_is_an_error_that_says_so() -> None:
    with pytest.raises(SandboxError, match="Seatbelt needs macOS"):
        choose_sandbox("seatbelt", ResourceLimits())


def test_a_probe_tells_what_a_sandbox_does_not_hold() -> None:
    with pytest.raises(SandboxError) as none:
        probe_sandbox(Unconfined())
    for held in ("write outside", "use the network", "environment of this process"):
        assert held in str(none.value)


def test_a_probe_tells_of_a_single_hole() -> None:
    with pytest.raises(SandboxError, match=r"^it lets commands use the network$"):
        probe_sandbox(LeakySandbox(network=True))
    with pytest.raises(SandboxError, match=r"^it lets commands write outside of the workspace$"):
        probe_sandbox(LeakySandbox(folder="outside"))
