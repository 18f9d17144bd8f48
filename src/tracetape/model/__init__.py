"""What tracetape talks about: frozen types of the standard library alone."""
