"""Words in, commands out: one module per command, everything heavy imported when it is needed."""
