"""Messages about queries that are asked again, as they travel: parts of the golden tables."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from agentstepper_nb.protocol import query_samples as wire
from agentstepper_nb.protocol.data_model import Failure, Usage

TO_AGENT: dict[str, Any] = {
    '{"n":1,"type":"sample","body":{"request":"q1","breakpoint":"b1","is_dry":true}}': (
        wire.RequestSample(request="q1", halt_point="b1", is_dry=True)
    ),
    '{"n":1,"type":"sample","body":{"request":"q1","breakpoint":"b1","is_dry":false,"edit":"a"}}': (
        wire.RequestSample(request="q1", halt_point="b1", edit=Raw(b'"a"'))
    ),
}
FROM_AGENT: dict[str, Any] = {
    '{"n":1,"type":"sampled","body":{"request":"q1","left":19,"sample":{"data":"hi","usage":{"input_t'
    'okens":1,"output_tokens":2,"cost":null,"estimated":false},"failure":null},"refusal":null}}': (
        wire.SampleMade(
            request="q1",
            left=19,
            sample=wire.QuerySample(
                data=Raw(b'"hi"'), usage=Usage(input_tokens=1, output_tokens=2)
            ),
        )
    ),
    '{"n":1,"type":"sampled","body":{"request":"q1","left":0,"sample":null,"refusal":"no"}}': (
        wire.SampleMade(request="q1", refusal="no")
    ),
}
FROM_UI: dict[str, Any] = {
    '{"n":1,"type":"get_sampling","id":"c","body":{"run":"r1","breakpoint":"b1"}}': (
        wire.GetSampling(run="r1", halt_point="b1")
    ),
    '{"n":1,"type":"sample_query","id":"c","body":{"run":"r1","breakpoint":"b1"}}': (
        wire.SampleQuery(run="r1", halt_point="b1")
    ),
}
TO_UI: dict[str, Any] = {
    '{"n":1,"type":"sampling","id":"c","body":{"left":20}}': wire.SamplingOffer(left=20),
    '{"n":1,"type":"sampled","id":"c","body":{"data":"null","action":"a","summary":"s","left":3,"usag'
    'e":null,"failure":{"type":"E","message":"m"}}}': wire.SampledAnswer(
        data="null",
        action="a",
        summary="s",
        left=3,
        failure=Failure(type="E", message="m"),
    ),
}
