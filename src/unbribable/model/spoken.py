"""Values that print as sentences. The words are in `say`; nothing below it has any."""


class Spoken:
    """A value that prints as `say` words it, counting rounds from 1 and without names.

    A door that counts or names otherwise does not print the value, but asks `say` itself.
    """

    def __str__(self) -> str:
        from unbribable.say.voice import words  # the one import of `say` from below: see CONTRIBUTING

        return words(self)
