"""Bytes → Recording: formats say how spans lie in bytes, conventions how attributes are named."""
