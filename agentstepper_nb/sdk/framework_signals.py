"""Exceptions by which agent frameworks go on, wait or end: none of them is a failure.

The classes are matched by name, so that no framework is imported for the match.
"""

from __future__ import annotations

from typing import Final

#: Module and name of each class; its subclasses are signals, too.
_SIGNALS: Final = frozenset(
    {
        ("langgraph.errors", "GraphBubbleUp"),  # interrupts, and commands for a parent graph
        ("minisweagent.exceptions", "InterruptAgentFlow"),  # the answer is submitted
        ("pydantic_ai.exceptions", "ApprovalRequired"),
        ("pydantic_ai.exceptions", "CallDeferred"),
        ("google.adk.workflow._errors", "NodeInterruptedError"),
        ("crewai.flow.async_feedback.types", "HumanFeedbackPending"),
        ("agent_framework._middleware", "MiddlewareTermination"),
        ("agent_framework.exceptions", "UserInputRequiredException"),
        ("smolagents.local_python_executor", "FinalAnswerException"),
    }
)
#: Subclasses of the signals by which an agent ends without having done its work.
_FAILURES: Final = frozenset({("minisweagent.exceptions", "LimitsExceeded")})


def is_framework_signal(error: BaseException) -> bool:
    """Whether a framework raised an exception to go on, to wait for a person, or to end as it should.

    Args:
        error: The exception; a group is a signal where all of its exceptions are.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(is_framework_signal(each) for each in error.exceptions)
    for kind in type(error).__mro__:
        name = (kind.__module__, kind.__qualname__)
        if name in _SIGNALS or name in _FAILURES:
            return name in _SIGNALS
    return False
