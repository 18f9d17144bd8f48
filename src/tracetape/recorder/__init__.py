"""The recording mode: each call through a boundary becomes a span and a line in a file."""
