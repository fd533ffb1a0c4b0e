"""`docs/guide/stack.md`: its agent halts, and its expression has the value that the page says."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agentstepper_nb.protocol import inspection as wire
from tests.docs.conftest import stranger
from tests.docs.pages import GUIDE, ROOT, blocks
from tests.docs.programs import ForkedPrograms
from tests.sdk.person import LiveView

PAGE = GUIDE / "stack.md"


@pytest.mark.slow
def test_the_expression_of_the_page(home: Path, uis: str, programs: ForkedPrograms) -> None:
    (command,) = [block.text.strip() for block in blocks(PAGE)]
    said = re.search(
        r"frame `(\w+)`, type\s+`(.+?)` in the Console.*?the answer, (\d+)",
        PAGE.read_text(),
        re.DOTALL,
    )
    assert said is not None
    function, expression, answer = said.groups()
    port = urlsplit(uis).port
    assert port
    with (
        LiveView(port) as person,
        programs.start(command, stranger(home), ROOT, "openai") as agent,
    ):
        person.wait_until_halted()
        person.step()  # from the program's start
        names = {"run": person.run.id, "halt_point": person.wait_until_halted()}
        stack = person._request(wire.GetStack(**names), wire.StackSnapshot)
        frame = next(
            index
            for index, each in enumerate(stack.frames)
            if each.is_own and each.location.function == function
        )
        found = person._request(
            wire.EvaluateExpression(**names, frame=frame, expression=expression), wire.Evaluation
        )
        assert found.value is not None and found.value.value == answer
        person.stop()
        assert agent.wait(40) == 1
