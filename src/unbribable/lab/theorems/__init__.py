"""Assumptions and a horizon in, what the theorems promise before the first reading out."""
