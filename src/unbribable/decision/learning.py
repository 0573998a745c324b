"""How readings become beliefs: one at a time, or a whole history at once."""

from collections.abc import Callable
from dataclasses import replace

from unbribable.decision.asking.search import Search
from unbribable.decision.instance import Instance
from unbribable.decision.journal import Journal, Lost
from unbribable.decision.policy import Policy
from unbribable.decision.proposal import CHOOSERS, Reading
from unbribable.model import checks
from unbribable.theory.information_gain import MaxInformationGain


class Learning:
    """Holds changing state: everything that is a function of the readings in their order.

    Learning them again, in another object, gives the same bit for bit.

    Args:
        journal: Without readings; they are recorded as they are learned.
        search: With the candidates there are at first.
        policy: Begins anew.
        gamma: For `gain="certified"`.
    """

    def __init__(
        self, journal: Journal, search: Search, policy: Policy, gamma: MaxInformationGain | None
    ) -> None:
        self.journal = journal
        self.search = search
        self.policy = policy
        X = search.candidates.coordinates
        self.instances = {
            label: Instance(
                label,
                X,
                policy.assumptions,
                policy.options_of(label),
                C=budget.C,
                delta=budget.delta,
                gamma=gamma,
                levels=budget.levels,
            )
            for label, budget in policy.budgets.items()
        }
        policy.begin(self.instances, len(X))
        self.refuted: int | None = None
        self._unsettled: dict[str, Instance] = {}  # those that learned since the journal was settled

    def decided(self, reading: Reading, drawn: Callable[[int], str]) -> Reading:
        """A reading that was not asked for here, its learner filled in, and its draw (by `drawn`)."""
        t = checks.integer("t", reading.t, at_least=1)
        self.journal.check_untold(t)
        checks.reading("y", reading.y)
        checks.choice("chosen_by", reading.chosen_by, CHOOSERS)
        labels = [label for label, _ in self.policy.draws]
        label = checks.choice("drawn", reading.drawn or drawn(t), labels)
        return replace(reading, drawn=label, learner=self.policy.learner_of(label))

    def learn(self, reading: Reading) -> None:
        """Let the instances it belongs to learn a reading, and conclude what follows."""
        search, journal = self.search, self.journal
        reading = self.policy.before(reading, journal.turn)
        if search.grow(reading.u, lambda: self.policy.guide(reading.learner), len(journal.readings)):
            self._grown()
        index, reading = search.located(reading)
        if reading.lcb is None and reading.chosen_by != "user":
            reading = replace(reading, lcb=self.policy.lcb_of(reading, index))  # chosen by a host
        journal.add(reading)
        for instance, y in self.policy.lessons(reading):
            instance.learn(index, y, reading.lam, settles=False)
            self._unsettled[instance.label] = instance
        self.policy.learned(reading, index)
        self.settle()

    def learn_all(self, readings: list[Reading]) -> None:
        """Learn readings in one go, before any other; what follows from them follows at the end."""
        if self.search.grow_all([reading.u for reading in readings]):
            self._grown()
        self.journal.n_at_once = len(readings)
        shares: dict[str, list[tuple[int, float, float]]] = {label: [] for label in self.instances}
        located = [self.search.located(reading) for reading in readings]
        for index, reading in located:
            self.journal.add(reading)
            for instance, y in self.policy.lessons(reading):
                shares[instance.label].append((index, y, reading.lam))
        for label, instance in self.instances.items():
            instance.learn_all(shares[label])
        for index, reading in located:
            self.policy.learned(reading, index)
        self._unsettled.update(self.instances)
        self.settle()

    def learn_again(self, past: Journal) -> None:
        """Learn the readings of another journal as they were learned there, losses in their places."""
        lost, n = list(past.lost.items()), past.n_at_once
        if n:
            self._lose_again(lost, 0)
            self.learn_all(past.readings[:n])
        for reading in past.readings[n:]:
            self._lose_again(lost, len(self.journal.readings))
            self.learn(reading)
        self._lose_again(lost, len(past.readings))

    def _lose_again(self, lost: list[tuple[int, Lost]], n_told: int) -> None:
        """Record what was lost before there were more than n_told readings; take it off the list."""
        while lost and lost[0][1].n_told <= n_told:
            self.journal.lose_again(*lost.pop(0))
            self.settle()

    def settle(self) -> None:
        """Intersect the bounds and conclude what follows, if the journal is settled (see `Journal`)."""
        if self.journal.n_settled < len(self.journal.readings):
            return
        changed = [label for label, instance in self._unsettled.items() if instance.settle()]
        self._unsettled = {}
        if not changed:
            return
        t = self.journal.readings[-1].t
        if self.policy.conclude(changed, t) and self.refuted is None:
            self.refuted = t

    def _grown(self) -> None:
        X = self.search.candidates.coordinates
        for instance in self.instances.values():
            instance.extend(X)
        self.policy.grown(len(X))
