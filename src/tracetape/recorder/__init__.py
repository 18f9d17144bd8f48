"""The recording mode: each call through a boundary becomes a span."""
