"""Slow, obvious ways to the same answers."""
