"""Messages about searches and exported tests, as they travel: parts of the golden tables."""

from __future__ import annotations

from typing import Any

from agentstepper_nb.protocol import run_programs as wire
from agentstepper_nb.protocol.run_programs import BisectPhase

FROM_UI: dict[str, Any] = {
    '{"n":1,"type":"start_bisect","id":"c","body":{"run":"r","bad":"b","check":"true","repeat":3}}': (
        wire.StartBisect(run="r", bad="b", check="true", repeat=3)
    ),
    '{"n":1,"type":"get_bisect","id":"c","body":{"run":"r","seen":7}}': (
        wire.GetBisect(run="r", seen=7)
    ),
    '{"n":1,"type":"answer_bisect","id":"c","body":{"run":"r","goes_on":true}}': (
        wire.AnswerBisect(run="r", goes_on=True)
    ),
    '{"n":1,"type":"cancel_bisect","id":"c","body":{"run":"r"}}': wire.CancelBisect(run="r"),
    '{"n":1,"type":"export_test","id":"c","body":{"run":"r","agent":"m:f","args":["1"],"file":"test_m.p'
    'y","replaces":false}}': (wire.ExportTest(run="r", agent="m:f", args=("1",), file="test_m.py")),
}
TO_UI: dict[str, Any] = {
    '{"n":1,"type":"bisect","id":"c","body":{"run":"r","revision":0,"phase":null,"bad":null,"check":"",'
    '"repeat":0,"question":"","queries":0,"probes":[],"execution":null,"is_cancelling":false,"message":'
    '"","row":null}}': wire.BisectState(run="r", revision=0),
    '{"n":1,"type":"bisect","id":"c","body":{"run":"r","revision":9,"phase":"found","bad":"b","check":"'
    'true","repeat":3,"question":"","queries":12,"probes":[{"row":7,"votes":[true,false,true],"runs":["'
    'x","y","z"],"queries":4}],"execution":null,"is_cancelling":false,"message":"Row 7.","row":7}}': (
        wire.BisectState(
            run="r",
            revision=9,
            phase=BisectPhase.FOUND,
            bad="b",
            check="true",
            repeat=3,
            queries=12,
            probes=(
                wire.BisectProbe(row=7, votes=(True, False, True), runs=("x", "y", "z"), queries=4),
            ),
            message="Row 7.",
            row=7,
        )
    ),
    '{"n":1,"type":"test_exported","id":"c","body":{"path":"/a/test_m.py"}}': (
        wire.ExportedTest(path="/a/test_m.py")
    ),
}
