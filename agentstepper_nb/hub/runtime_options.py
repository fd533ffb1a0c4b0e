"""Options for the background agents of a Core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Final

from .runtime.admission import DEFAULT_LIMITS, AdmissionLimits
from .runtime.model_rates import ModelRate


@dataclass(frozen=True)
class RuntimeOptions:
    """The options of a Core for its background agents.

    Args:
        limits: How much may be in progress at once.
        model_rates: For each model's name, how often all workers together may query the model.
        has_metrics: Whether the Core counts metrics for Prometheus and serves them.
        logs_json: Whether the worker that the Core starts logs JSON.

    Raises:
        ValueError: The package that counts metrics isn't installed.
    """

    limits: AdmissionLimits = DEFAULT_LIMITS
    model_rates: Mapping[str, ModelRate] = field(default_factory=dict)
    has_metrics: bool = False
    logs_json: bool = False

    def __post_init__(self) -> None:
        if self.has_metrics and find_spec("prometheus_client") is None:
            raise ValueError(
                "Metrics need the package prometheus-client. Run pip install "
                "'agentstepper_nb[metrics]', or leave the option metrics out."
            )


DEFAULT_OPTIONS: Final = RuntimeOptions()
