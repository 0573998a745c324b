"""Values in, sentences out: the one room that says what was found, in the words of a door."""
