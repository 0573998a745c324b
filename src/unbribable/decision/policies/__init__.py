"""One file an algorithm: who is drawn, who plays and learns, what follows, which bounds to trust."""
