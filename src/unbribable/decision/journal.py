"""What became of every round: told, lost, retracted, or still open."""

from dataclasses import dataclass, field, replace

from unbribable.decision.proposal import Reading


@dataclass(frozen=True, slots=True)
class Lost:
    """A round that has no reading and will have none."""

    because_of_value: bool
    """Whether the value is the reason, as far as is known."""
    n_told: int
    """Readings told before it was given up."""


@dataclass(eq=False)
class Journal:
    """Holds changing state: the readings in the order of telling, and which rounds have none.

    A reading may come late because of its value, so bounds made by some but not all readings of the
    rounds so far need not hold. The journal is settled when every round up to the last one told is
    accounted for. Then the order of telling does not matter any more, since the noise events are those
    of the rounds as they were asked.
    """

    retracted: dict[int, bool] = field(default_factory=dict)
    """Round -> the statement that the reason had nothing to do with the value."""
    lost: dict[int, Lost] = field(default_factory=dict)
    """By round, in the order in which they were given up."""
    readings: list[Reading] = field(default_factory=list)
    """Everything told and not retracted, in the order of telling."""
    told: set[int] = field(default_factory=set)
    """Their rounds."""
    n_settled: int = 0
    """Readings told when it was last settled: those that the bounds rest on."""
    _open: set[int] = field(default_factory=set)
    _last: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether every round up to the last one told is accounted for."""
        return not self._open

    @property
    def n_waiting(self) -> int:
        """Readings that the bounds do not rest on yet, because an earlier round is still open."""
        return len(self.readings) - self.n_settled

    @property
    def is_selected(self) -> bool:
        """Whether a reading is missing because of its value, which voids the bounds."""
        lost = any(lost.because_of_value for lost in self.lost.values())
        return lost or not all(self.retracted.values())

    def add(self, reading: Reading) -> None:
        """Take down what was told."""
        t = reading.t
        self.readings.append(reading)
        self.told.add(t)
        if t > self._last + 1:
            skipped = range(self._last + 1, t)
            self._open.update(s for s in skipped if s not in self.lost and s not in self.retracted)
        self._last = max(self._last, t)
        self._close(t)

    def lose(self, t: int, because_of_value: bool) -> bool:
        """Take down that round t has no reading; whether that is new."""
        known = self.lost.get(t)
        if known is not None:
            self.lost[t] = replace(known, because_of_value=because_of_value)
            return False
        self.lose_again(t, Lost(because_of_value, len(self.readings)))
        return True

    def lose_again(self, t: int, lost: Lost) -> None:
        """As `lose`, with what was taken down before."""
        self.lost[t] = lost
        self._close(t)

    def without(self, id_: int, unrelated: bool) -> "Journal":
        """A journal with no reading yet, for learning all but this one again."""
        place = [reading.t for reading in self.readings].index(id_)
        lost = {
            t: replace(each, n_told=each.n_told - (each.n_told > place)) for t, each in self.lost.items()
        }
        return Journal({**self.retracted, id_: unrelated}, lost)

    def condition(self) -> str:
        """What the bounds suppose about missing readings, as a clause; empty if there are none."""
        n = len(self.lost)
        if not n:
            return ""
        if n == 1:
            return "and if the one missing reading is not missing because of its value"
        return f"and if none of the {n} missing readings is missing because of its value"

    def selection(self) -> str:
        """Why nothing is guaranteed, where readings are missing because of their values."""
        n = sum(lost.because_of_value for lost in self.lost.values())
        if n:
            rounds = "1 round was" if n == 1 else f"{n} rounds were"
            return f"No guarantee: {rounds} cut short because of the value, as a pruned trial is."
        gone = [id_ for id_, is_unrelated in self.retracted.items() if not is_unrelated]
        return (
            f"No guarantee: readings {gone} were taken out, and nobody stated that this had nothing to "
            "do with their values."
        )

    def _close(self, t: int) -> None:
        self._open.discard(t)
        if self.is_settled:
            self.n_settled = len(self.readings)
