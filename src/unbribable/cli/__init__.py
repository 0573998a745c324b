"""Words in, commands out: one module a command, everything else imported when it is needed."""
