"""The plugin of pytest for exported tests, which replay an agent on its recording.

Whoever has this package installed has the plugin loaded by pytest. Importing it imports nothing of this
package beside its lazy `__init__`, and it does nothing but for tests with its marker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from .replay.recordings import Recording

_MARKER: Final = "agentstepper_recording"
_OPTION: Final = "--agentstepper-record"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that records anew."""
    parser.getgroup("agentstepper").addoption(
        _OPTION,
        action="store_true",
        help="run the agents of exported tests at the Core of this machine, and write their recordings "
        "anew, in place of replaying them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(path, volatile=(), freeze=False): the recording that `replay_agent` replays, beside "
        "the test's file; patterns of what differs from one execution to the next; whether the agent "
        "sees the recorded time and random numbers",
    )


@pytest.fixture
def replay_agent(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Replays an agent on the recording that the test's marker names.

    It is called as `replay_agent(function, *args)`, and gives what `function(*args)` returns. The agent
    that does something else than was recorded ends the test with a `Divergence`.
    """
    marker = request.node.get_closest_marker(_MARKER)
    if marker is None or len(marker.args) != 1:
        pytest.fail(
            f"replay_agent needs the recording to replay. Mark the test with "
            f'@pytest.mark.{_MARKER}("test_….recording.json").',
            pytrace=False,
        )
    path = request.path.parent / marker.args[0]
    call = _record if request.config.getoption(_OPTION) else _replay
    return partial(call, path, **marker.kwargs)


def _replay(
    path: Path,
    function: Callable[..., Any],
    *args: Any,
    volatile: Sequence[str] = (),
    freeze: bool = False,
) -> Any:
    from .errors import Divergence, ProtocolError
    from .replay.attached_runs import replay_offline
    from .replay.recording_files import read_recording

    try:
        recording = read_recording(path, volatile)
    except FileNotFoundError:
        pytest.fail(
            f"The recording {path} doesn't exist. Record it by `pytest --agentstepper-record`.",
            pytrace=False,
        )
    except ProtocolError as error:
        pytest.fail(f"{error}", pytrace=False)
    try:
        return replay_offline(recording, function, *args, freeze=freeze)
    except Divergence as error:
        # A traceback through this package says nothing more.
        pytest.fail(
            f"{error}\n\nWhere the agent is meant to do this, record it anew: `pytest {_OPTION}`.",
            pytrace=False,
        )


def _record(
    path: Path,
    function: Callable[..., Any],
    *args: Any,
    volatile: Sequence[str] = (),
    freeze: bool = False,
) -> Any:
    from .errors import DiscoveryError, StoreError
    from .replay.attached_runs import record_run

    before = _find_recording(path)
    name = "" if before is None else before.program
    discovers = True if before is None else before.discovers_tools
    try:
        return record_run(
            path, function, *args, name=name, discovers_tools=discovers, freeze=freeze
        )
    except (DiscoveryError, StoreError) as error:
        pytest.fail(
            f"{_OPTION} can't record {path.name}, since it needs a Core that stores runs: {error}",
            pytrace=False,
        )


def _find_recording(path: Path) -> Recording | None:
    """The recording that is about to be replaced; None: there is none that can be read."""
    from .errors import ProtocolError
    from .replay.recording_files import read_recording

    try:
        return read_recording(path)
    except FileNotFoundError:
        return None
    except ProtocolError as error:
        if error.code != "corrupt_import":  # a newer version's, which isn't ours to replace
            pytest.fail(f"{error}", pytrace=False)
        return None
