"""Runs an agent's rows, each as one run, in the Python that has the agent's framework.

Started with the agent's file, the model's address and the Core's port; a line of stdin is a row, and a
line of stdout its end. The agent's file knows nothing of this.
"""

import asyncio
import importlib.util
import json
import sys

from agentstepper_nb import AgentStepper, instrument


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
            with AgentStepper(row["name"], "127.0.0.1", int(port), stop_on_entry=False):
                made = getattr(agent, row["mode"])(row["text"])
                output = runner.run(made) if asyncio.iscoroutine(made) else made
            end = {"output": output}
        except BaseException as error:
            while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
                (error,) = error.exceptions  # of a task group around the agent
            end = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(end), file=ends, flush=True)


main()
