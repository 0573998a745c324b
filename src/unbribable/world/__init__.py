"""A point to what is told about it, with the truth beside: objectives, adversaries, the ledger."""
