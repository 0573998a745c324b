"""A finished table in, a verdict out: which readings are lies, how much lying there was, what to use.

`unbribable.audit` is the function, so the room has another name.
"""
