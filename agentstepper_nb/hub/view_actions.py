"""Commands of views that run in the background: an agent, a model, a program or files may take long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, get_args

from msgspec import Struct

from ..protocol import ui as v2
from ..protocol.fork_trees import PutBack
from ..protocol.inspection import InspectionCommand
from ..protocol.query_samples import SamplingAnswer, SamplingCommand
from ..protocol.run_programs import BisectCommand, ExportTest
from .run_restarts import start_again
from .run_service import RunService
from .view_inspections import inspect_halt_point
from .view_programs import execute_bisect_command, export_test
from .view_samples import sample_query
from .views import ViewSession
from .workspace_restores import put_back

Action = InspectionCommand | SamplingCommand | v2.StartAgain | PutBack | ExportTest | BisectCommand


async def _sample(hub: RunService, _: ViewSession, command: SamplingCommand) -> SamplingAnswer:
    return await sample_query(hub, command)


#: The handler of each type of `Action`. Handlers raise CommandError, and DamagedRunError if the stored
#: run is damaged.
ACTION_HANDLERS: Final[
    dict[type[Struct], Callable[[RunService, ViewSession, Any], Awaitable[v2.CoreToUi]]]
] = {
    **dict.fromkeys(get_args(InspectionCommand), inspect_halt_point),
    **dict.fromkeys(get_args(SamplingCommand), _sample),
    **dict.fromkeys(get_args(BisectCommand), execute_bisect_command),
    v2.StartAgain: start_again,
    PutBack: put_back,
    ExportTest: export_test,
}
