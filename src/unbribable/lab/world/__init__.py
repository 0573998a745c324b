"""A point in, what is told about it out, with the truth beside it: functions, adversaries, ledger."""
