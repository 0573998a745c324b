"""Doors for users of other tools."""
