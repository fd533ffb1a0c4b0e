"""Runs an agent's rows, each as one run, in the Python that has the agent's framework.

Started with the agent's file, the model's address and the Core's port; a line of stdin is a row, which
may be one to run again on its recording, and a line of stdout its end. The agent's file knows nothing of
this.
"""

import asyncio
import importlib.util
import json
import sys

from agentstepper_nb import AgentStepper, fork_run, instrument, replay_run
from agentstepper_nb.replay import ReplayDepth
from agentstepper_nb.replay.recording_files import read_recording


def main() -> None:
    file, url, port = sys.argv[1:]
    ends, sys.stdout = sys.stdout, sys.stderr  # a framework may print
    instrument.enable()
    spec = importlib.util.spec_from_file_location("agent", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    agent = module.Agent(url)
    print(
        json.dumps({"seams": [s.library for s in instrument.list_seams() if s.is_active]}),
        file=ends,
        flush=True,
    )
    runner = asyncio.Runner()  # clients that are kept for the process's life have one loop
    for line in sys.stdin:
        row = json.loads(line)
        try:
            function = getattr(agent, row["mode"])
            if "recording" in row:
                made = run_again(getattr(module.Agent(url), row["mode"]), row)
                output = runner.run(made) if asyncio.iscoroutine(made) else made
            else:
                with AgentStepper(row["name"], "127.0.0.1", int(port), stop_on_entry=False):
                    made = function(row["text"])
                    output = runner.run(made) if asyncio.iscoroutine(made) else made
            end = {"output": output}
        except BaseException as error:
            while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
                (error,) = error.exceptions  # of a task group around the agent
            end = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(end), file=ends, flush=True)


def run_again(function, row):
    """Replay a row on its recording, where no Core is asked, or fork it at a row of its timeline."""
    recording = read_recording(row["recording"])
    depth = ReplayDepth[row["depth"]]
    if "fork" in row:
        edit = json.loads(row["edit"])
        return fork_run(recording, row["fork"], function, row["text"], edit=edit, depth=depth)
    return replay_run(recording, function, row["text"], depth=depth, offline=True)


main()
