"""Our convention: how a crossing lies in a span's attributes."""
