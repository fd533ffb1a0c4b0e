"""What the page of the measures says of each: how it is measured, and by what; and its tables."""

from __future__ import annotations

from collections.abc import Iterable

INTRODUCTION = """\
# What it costs

<!-- Made by `python -m bench --write`. -->

A *round trip* is one halt point: the agent sends it, the Core hands it to its store, answers, and tells
one connected UI. It is measured with the raw `websockets` client and messages encoded beforehand, so
that it is the Core that is measured. What is timed is an LLM query, an event and its two halt points,
and the time is halved.

The *floor* is what a debugger on WebSockets can hardly avoid: a bare echo of the same bytes, on the same
server library with the same options and reads of the same size (`READ` in `hub/sockets.py`), that also
sends the message and a small state frame to one connected UI.

Agent, server and UI are processes of their own. Blocks of all setups take turns within one run, with a
rest after each round, in which the stores index and tidy up. A ratio is that of two neighbouring blocks;
shown are medians, and in brackets the middle half.

Each halt point has contents that the store hasn't seen. It keeps runs in memory or on disk
(docs/design/0008-store.md): `relaxed` answers once the halt point is handed to the writer, `durable`
once it is recorded, which adds a transaction.

"""


WORKSPACE_TEXT = """
## Looking at a workspace of many files

At each end of a tool the workspace is looked at, in the agent's process. The floor here is a bare walk
over the same 10,000 files in the same run. What is read was written long enough ago for its stamp to be
trusted; where a file changed, git stores it and compares.
"""

FORK_TEXT = """
## Forking a run with many files

The files of the snapshot at the row where a run of 10,000 files is forked (docs/design/0026-replay.md).
The floor is `shutil.copytree` of the same files, in turn with the others. The fork's own run then looks
at its folder as every run does, and stores what is in it.
"""

REPLAY_TEXT = """
## Replaying a run

A strict replay of 1,000 LLM queries by OpenAI's client, without a Core (docs/design/0026-replay.md).
The floor is the same agent without a debugger, whose client is answered by a function in its process.
"""

STORE_TEXT = """
## Keeping runs on disk

Halt points of 2 KB, durable each by itself and many at one go. The floor writes the same records as
JSON Lines and calls `fdatasync`; it can't find, edit or delete anything again. The search index is made
meanwhile.
"""

LEASE_TEXT = """
## Continuing by a lease

What one halt point costs the agent's own thread, in a real agent whose run continues: encoded, masked,
decided and queued (docs/design/0011-breakpoints-and-lease.md). Version 1 is the same agent, which waits
for an answer there. A *long block* shares its interpreter with the thread that sends, and where
contents are large it waits for the Core to keep them.
"""

WIRE_TEXT = """
## What a turn costs on the wire

Each prompt is the one before and 2 KB more; an answer is a message of the next prompt. Counted is all
that the SDK sends, and what a view gets that looks at each prompt, one after the other
(docs/design/0012-pieces.md). The other conversations are as long.
"""

SEAM_TEXT = """
## A query that isn't halted

What the seam at the HTTP client (docs/design/0022-zero-lines.md) costs OpenAI's client in a run that
continues, beside OpenInference's passive instrumentor, which records the same and can neither halt nor
edit. The model answers at once, with 200 tokens: of a real one's seconds these are thousandths. Each
query is followed by a rest of 10 ms. (`python -m bench.seam` is the agent's process.)
"""

BROWSER_TEXT = """
## A long run in the browser

From a click on it in the list of runs until the frame that shows its last rows is over, on a page of its
own in Chromium; what the Core sends for it; and what is in the document then. (`python -m
bench.open_long`)
"""


LONG_RUN_TEXT = """
## Long runs, and many agents

Agents whose halt points don't wait, 2 KB each, with a Core that keeps runs on disk. A halt point's time
is that of a block until the Core says that all of it is kept; blocks of a short and of the long run take
turns. (`python -m bench.long_runs`)
"""

BACKGROUND_TEXT = """
## Background agents

From asking for an action until its handler begins: the Core is a process of its own and keeps agents on
disk, `durable`; a client and a worker's dispatcher share another one, each with its own connection. A
claim and the end of what was claimed are two transactions of the store itself; its rows were loaded
1,000 at one go, and blocks of both stores take turns. (`python -m bench.background`)
"""

FLEET_TEXT = """
## A thousand sessions at once

{sessions:,} sessions of {steps} steps that wait for nothing, on one Core and {workers} workers,
with `ulimit -n 1024` in each process. One session in {harm_every} crashes, blocks or leaks in
a step, again at each try; a worker that ends is started again. *Isolated*, each session's
steps run alone in a process. *Cooperative*, they share the worker's loop (`--isolation none`):
a harmful step ends its worker or holds it up, and the sessions that shared it are tried alone.
A session is where it should be with each of its steps stored once: `done`, or `error` at its
harmful step. Memory of step processes counts pages that they share once.
(`python -m bench.fleet`)
"""


def make_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """The lines of a table, whose columns are as wide as their widest cell.

    Args:
        head: The columns' names.
        rows: The cells of each row.
    """
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    rule = tuple("-" * width for width in widths)
    return [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in (head, rule, *lines[1:])
    ]
