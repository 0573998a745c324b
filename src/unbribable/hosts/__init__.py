"""Other people's loops in, our advice out: a room for each host."""
