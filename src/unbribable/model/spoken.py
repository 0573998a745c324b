"""Values that print as sentences. The words are in `say`; nothing below it has any.

This is the one place from which a floor below `say` reaches it: late, and only to print.
"""


class Spoken:
    """A value that prints as `say` words it, counting rounds from 1 and without names.

    A door that counts or names otherwise does not print the value, but asks `say` itself.
    """

    def __str__(self) -> str:
        from unbribable.say.voice import words

        return words(self)


def guarantee(value: Spoken) -> str:
    """What is guaranteed of a value, or why nothing is, in words."""
    from unbribable.say.voice import guarantee

    return guarantee(value)
