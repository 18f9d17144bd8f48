"""The benchmark: what tracetape costs, as multiples of floors measured in the same run."""
