"""What a person sets for the background agents of a Core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Final

from .runtime.admission import DEFAULT_LIMITS, AdmissionLimits
from .runtime.model_rates import ModelRate


@dataclass(frozen=True)
class RuntimeOptions:
    """What may differ between Cores.

    Args:
        limits: How much may be under way at once.
        model_rates: By the model's name, how often all workers together may ask it.
        has_metrics: Whether figures are counted for Prometheus, and served.
        logs_json: Whether the worker that the Core starts logs JSON.

    Raises:
        ValueError: What counts figures isn't installed.
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
