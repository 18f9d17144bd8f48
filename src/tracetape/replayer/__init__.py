"""The replaying mode: a recording's stub table answers calls. Knows no OpenTelemetry."""
