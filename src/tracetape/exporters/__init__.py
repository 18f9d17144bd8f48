"""Where spans go: lines of OTLP JSON in a file."""
