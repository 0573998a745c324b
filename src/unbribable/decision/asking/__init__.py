"""What the bounds say of every candidate in, the next point out: rules, searches, secret draws."""
