"""One file an algorithm: who is drawn, who plays and learns, what follows, whom to trust."""
