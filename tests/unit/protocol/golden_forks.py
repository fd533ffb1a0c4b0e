"""Messages about forks and the files that they restored, as they travel: parts of the golden tables."""

from __future__ import annotations

from typing import Any

from agentstepper_nb.protocol import fork_trees as wire

FROM_UI: dict[str, Any] = {
    '{"n":1,"type":"list_forks","id":"c","body":{"run":"r"}}': wire.ListForks(run="r"),
    '{"n":1,"type":"put_back","id":"c","body":{"run":"r"}}': wire.PutBack(run="r"),
    '{"n":1,"type":"put_back","id":"c","body":{"run":"r","restore":"j"}}': wire.PutBack(
        run="r", restore="j"
    ),
}
TO_UI: dict[str, Any] = {
    '{"n":1,"type":"forks","id":"c","body":{"nodes":[],"more":2,"restored":[{"folder":"/w","restore":'
    '"j","run":"f","recorded_run":"r","row":3,"is_done":false}]}}': wire.ForkTree(
        nodes=(),
        more=2,
        restored=(
            wire.RestoredFolder(
                folder="/w", restore="j", run="f", recorded_run="r", row=3, is_done=False
            ),
        ),
    ),
    '{"n":1,"type":"files_put_back","id":"c","body":{"report":"1 file written"}}': (
        wire.FilesPutBack(report="1 file written")
    ),
}
