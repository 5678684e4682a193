"""Settings for the whole suite."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Time says more about the machine than about the code: it belongs into benchmarks.
settings.register_profile("gaplint", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gaplint")
