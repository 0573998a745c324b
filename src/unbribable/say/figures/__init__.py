"""A user's study in, pictures of it out: posterior, history, suspicious readings."""
