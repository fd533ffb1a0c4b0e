"""`agentstepper` itself: what each command's end becomes."""

from __future__ import annotations

import pytest

from agentstepper_nb.cli import EXIT_INTERRUPTED, main


@pytest.mark.parametrize("words", [["doctor"], ["bisect", "a", "--check", "true"], ["backup"]])
def test_an_interrupt_ends_a_command_without_a_traceback(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"agentstepper_nb.cli.{words[0]}.run", interrupt)
    try:
        code = main(words)
    except KeyboardInterrupt:  # which would end the tests
        pytest.fail("the interrupt came through")
    assert code == EXIT_INTERRUPTED
