"""Real backends for the tests: an OpenTelemetry Collector, Jaeger 2, Kafka, Phoenix, each on loopback.

`make backends` builds them once, outside the repository; a test starts what it needs and stops it again.
"""

from __future__ import annotations

from tests.backends.cache import available
from tests.backends.http import fetched, get
from tests.backends.needed import needs
from tests.backends.servers import Collector, Jaeger, Kafka, Phoenix, validate

__all__ = ["Collector", "Jaeger", "Kafka", "Phoenix", "available", "fetched", "get", "needs", "validate"]
