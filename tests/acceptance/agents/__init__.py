"""Agents in five styles, each with a world of fakes that counts what really ran."""
