"""Blocks and a drift: estimated, never optimized, and said with every guarantee."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.run_files import lines_of
from study.scripted import ASSUMED, GRID, assert_same_run
from unbribable.auditing.proof import prove
from unbribable.decision.proven.conditions import Corrected
from unbribable.study.fitted import room
from unbribable.theory.energy import noise_energy, noise_level
from unbribable.theory.least_corruption import LeastCorruption

DAYS = ("Monday", "Tuesday", "Wednesday")
OFF = {"Monday": -1.0, "Tuesday": 0.0, "Wednesday": 1.0}
T = 15


def f(x: Any) -> float:
    return float(np.sin(5.0 * x[0]))


def day(t: int) -> str:
    return DAYS[(t - 1) // 5]


def noise(t: int) -> float:
    return 0.02 * math.sin(37.0 * t)


def drifts(t: int) -> float:
    return 0.8 * ((t - 1) / (T - 1) - 0.5)


def played(
    *, has_blocks: bool = False, is_told: bool = True, study: Any = None, **words: Any
) -> ub.Study:
    """A study with offsets by day, or with a drift, and whether it is told of them."""
    words = {"drift": is_told and not has_blocks, **words}
    study = ub.Study([(0.0, 1.0)], n_rounds=T, seed=1, **words) if study is None else study
    sign = study.engine.plan.sign
    for t in range(len(study.trials) + 1, T + 1):
        query = study.ask()
        off = OFF[day(t)] if has_blocks else drifts(t)
        study.tell(
            query, sign * (f(query.x) + noise(t)) + off, block=day(t) if has_blocks and is_told else None
        )
    return study


BY_DAY, DRIFTING = played(has_blocks=True), played()

# --- what is estimated -----------------------------------------------------------------------------


def test_the_offset_of_each_block_is_found() -> None:
    offsets = BY_DAY.offsets()
    assert list(offsets) == list(DAYS)
    for name, (estimate, sd) in offsets.items():
        assert abs(estimate - OFF[name]) < 0.1
        assert 0.0 < sd < 0.1
    assert BY_DAY.result().offsets == offsets


def test_offsets_are_in_the_units_of_the_readings_where_the_user_minimizes() -> None:
    offsets = played(has_blocks=True, direction="minimize").offsets()
    assert [round(estimate) for estimate, _ in offsets.values()] == [-1, 0, 1]


@pytest.mark.parametrize("study", [BY_DAY, DRIFTING], ids=["blocks", "drift"])
def test_an_answer_is_about_f_for_an_average_block_and_drift(study: ub.Study) -> None:
    best = study.recommend()
    assert f(best.x) > 0.98
    assert best.estimate == pytest.approx(f(best.x), abs=0.1)
    assert not study.suspects(flagged_only=True)


def test_without_being_told_it_is_further_off() -> None:
    for has_blocks, study in ((True, BY_DAY), (False, DRIFTING)):
        best = played(has_blocks=has_blocks, is_told=False).recommend()
        told = study.recommend()
        assert abs(best.estimate - f(best.x)) > 2.0 * abs(told.estimate - f(told.x))


def test_a_lie_is_found_beside_offsets() -> None:
    study = ub.Study([(0.0, 1.0)], n_rounds=T, seed=1)
    for t in range(1, T + 1):
        query = study.ask()
        study.tell(query, f(query.x) + noise(t) + OFF[day(t)] + 5.0 * (t == 8), block=day(t))
    assert [each.t for each in study.suspects(flagged_only=True)] == [8]


def test_a_block_that_is_alone_changes_nothing() -> None:
    study = ub.Study([(0.0, 1.0)], n_rounds=T, seed=1)
    for t in range(1, T + 1):
        query = study.ask()
        study.tell(query, f(query.x) + noise(t), block="Monday")
    other = ub.Study([(0.0, 1.0)], n_rounds=T, seed=1)
    for t in range(1, T + 1):
        query = other.ask()
        other.tell(query, f(query.x) + noise(t))
    for mine, theirs in zip(study.trials, other.trials, strict=True):
        np.testing.assert_array_equal(mine.x, theirs.x)
    assert study.offsets() == {"Monday": (0.0, 0.0)}
    assert other.offsets() == {}
    assert study.recommend().estimate == other.recommend().estimate


def test_readings_without_a_block_are_one_together() -> None:
    study = ub.Study([(0.0, 1.0)], seed=0)
    for t in range(1, 9):
        study.tell(study.ask(), 1.0 * (t % 2) + noise(t), block=7 if t % 2 else None)
    assert list(study.offsets()) == [7, None]


# --- what is guaranteed ----------------------------------------------------------------------------


@pytest.mark.parametrize("study", [BY_DAY, DRIFTING], ids=["blocks", "drift"])
def test_a_guarantee_says_that_the_correction_must_be_right(study: ub.Study) -> None:
    best, engine = study.recommend(), study.engine
    conditions = [each for each in best.promise.conditions if isinstance(each, Corrected)]
    assert conditions == [Corrected(engine.within.max(), 3 * engine.has_blocks, engine.plan.drift)]
    words = "the offsets of 3 blocks are right to" if engine.has_blocks else "the drift is right to"
    assert words in best.guarantee
    summary = " ".join(study.result().summary().split())
    assert words in summary
    assert "that look honest, less their offsets)" in summary
    assert "f is what an average reading is of" in str(study.result().assumptions)
    assert conditions[0] in study.price(0.5).promise.conditions
    assert "by a heuristic" in str(study.result().assumptions)
    lower, upper = best.interval
    assert lower < f(best.x) < upper


@pytest.mark.long
@pytest.mark.parametrize("has_blocks", [True, False])
def test_a_correction_is_seldom_off_by_more_than_is_supposed(has_blocks: bool) -> None:
    """In one game of ten: what is supposed of all readings is a heuristic."""
    n_off = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        study = ub.Study([(0.0, 1.0)], n_rounds=20, seed=seed, drift=not has_blocks)
        shared = np.repeat(rng.permutation([-0.5, -0.25, 0.25, 0.5]), 5)
        shared = shared if has_blocks else np.linspace(-0.4, 0.4, 20)
        for t in range(20):
            query = study.ask()
            y = f(query.x) + 0.04 * rng.standard_normal() + shared[t]
            study.tell(query, y, block=t // 5 if has_blocks else None)
        engine = study.engine
        pairs = zip(engine.told, engine.corrected, strict=True)
        off = np.array([told.y - each.y for told, each in pairs]) - shared
        n_off += bool((np.abs(off) > engine.within).any())
    assert n_off <= 1


@pytest.mark.parametrize("noise_std", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("delta", [0.001, 0.1, 0.9])
def test_the_larger_noise_has_room_for_any_error_of_the_correction(
    noise_std: float, n: int, delta: float
) -> None:
    """The proof of `room`, on numbers: the energy of all, and the level of each."""
    rng = np.random.default_rng(n)
    for _ in range(50):
        own = noise_std * np.exp(rng.normal(0.0, 1.0, n))
        within = np.exp(rng.normal(0.0, 2.0, n)) * (rng.random(n) < 0.8)
        within[0] = 0.5
        assumed, stds = room(noise_std, own, within)
        g = noise_energy(1.0, n, delta)
        most = math.sqrt(noise_energy(assumed, n, delta))
        for weights in (own / stds, np.ones(n), rng.random(n), np.eye(n)[int(np.argmin(within))]):
            noises = own * weights * math.sqrt(g) / max(float(np.linalg.norm(weights)), 1e-300)
            assert np.linalg.norm((noises + within) / stds) * assumed <= most * (1.0 + 1e-12)
        levels = stds / assumed * noise_level(assumed, 1, delta)
        assert np.all(levels >= own * noise_level(1.0, 1, delta) + within - 1e-12)


def test_where_all_errors_are_alike_it_is_a_sum() -> None:
    assumed, stds = room(0.2, np.full(5, 0.2), np.full(5, 0.3))
    assert assumed == pytest.approx(0.5)
    np.testing.assert_allclose(stds, 0.5)


def test_one_reading_of_a_new_block_leaves_the_worst_case_as_it_was() -> None:
    """Of a point that says nothing of its offset: it alone counts for little."""
    study = played(has_blocks=True, study=ub.Study([(0.0, 1.0)], n_rounds=T, seed=1))
    before = np.subtract(*study.recommend().interval[::-1])
    study.tell([0.999], 7.0, block="Sunday")
    assert study.engine.within.argmax() == T
    assert study.engine.within[:T].max() < 0.2
    assert np.subtract(*study.recommend().interval[::-1]) < 2.0 * before


def test_the_noise_that_is_assumed_has_that_room() -> None:
    engine = DRIFTING.engine
    model = engine.model()
    noise = engine.noise * model.assumptions.noise_std * model.units.scale
    assert np.all(noise > engine.within)
    lams = [reading.lam / model.assumptions.lam for reading in engine.algorithm().readings]
    np.testing.assert_allclose(lams, engine.noise**2)
    learned = [reading.y for reading in engine.algorithm().readings]
    assert learned == [model.units.to_model(each.y) for each in engine.corrected]


def test_a_reading_that_is_precise_by_itself_has_room_for_its_correction_all_the_same() -> None:
    study = ub.Study([(0.0, 1.0)], seed=1)
    for t in range(1, 11):
        x = [(0.37 * t) % 1.0]
        study.tell(x, f(x) + OFF[day(t)], block=day(t), sem=1e-6 if t == 3 else None)
    engine = study.engine
    noise = engine.noise * engine.model().assumptions.noise_std * engine.model().units.scale
    assert np.all(noise > engine.within)
    assert noise.argmin() == 2


def test_replicates_share_the_block_and_a_false_reading_has_no_part_in_it() -> None:
    study = ub.Study([(0.0, 1.0)], seed=1, reading_range=(-3.0, 3.0))
    for t in range(1, 11):
        x = [(0.37 * t) % 1.0]
        y = f(x) + OFF[day(t)]
        study.tell(x, [y, 99.0] if t == 4 else y, block=day(t))
    assert [each.block for each in study.trials[3:5]] == ["Monday", "Monday"]
    assert abs(study.offsets()["Tuesday"][0] - study.offsets()["Monday"][0] - 1.0) < 0.2
    assert [each.t for each in study.suspects(flagged_only=True)] == [5]
    frame = study.to_dataframe()
    assert frame["offset"].isna().tolist() == [t == 5 for t in range(1, 12)]
    assert frame["block"].notna().all()
    pytest.importorskip("clarabel")
    assert prove(study.engine, [5]).total >= 96.0
    assert study.recommend().lower is not None


def test_with_assumptions_given_nothing_is_certain_of_a_reading() -> None:
    """The bounds that would call it that rest on a noise which the correction has not."""
    said = []
    for block in (None, "b"):
        study = ub.Study(GRID, assumptions=ASSUMED, lies=1)
        for k in range(12):
            label = None if block is None else f"{block}{k % 2}"
            study.tell(GRID.points[k % 4], 0.1 + 50.0 * (k == 5), block=label)
        said.append([each.is_certain for each in study.suspects()])
        if block is not None:
            assert study.engine.model().assumptions.noise_std > ASSUMED.noise_std
            assert "the offsets of 2 blocks" in study.recommend().guarantee
    assert any(said[0])
    assert not any(said[1])


def test_there_is_no_price_in_a_total_of_lies() -> None:
    price = DRIFTING.price(0.5)
    assert (price.value, price.without_cap, price.least_eps) == (None, None, None)
    assert price.n_needed is not None


def test_a_proof_leaves_out_the_event_that_no_correction_survives(monkeypatch: Any) -> None:
    pytest.importorskip("clarabel")
    seen = []

    def spied(*arguments: Any, is_selected: bool, **words: Any) -> Any:
        seen.append(is_selected)
        return LeastCorruption(*arguments, is_selected=is_selected, **words)

    monkeypatch.setattr("unbribable.auditing.proof.LeastCorruption", spied)
    proof = prove(DRIFTING.engine, [])
    assert seen == [True]
    assert any(isinstance(each, Corrected) for each in proof.conditions)


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [True, math.nan, math.inf, ["Monday"], {}, object(), "", "  ", 1j])
def test_a_label_that_is_none_is_refused_and_nothing_is_learned(label: Any) -> None:
    study = ub.Study([(0.0, 1.0)], seed=0)
    query = study.ask()
    with pytest.raises(TypeError, match=r"^block must be"):
        study.tell(query, 1.0, block=label)
    assert study.pending == (query,)
    study.tell(query, 1.0, block=np.int64(3))
    assert study.trials[0].block == 3


@pytest.mark.parametrize("corruption", [0, 2.0, "unknown"])
def test_where_lies_have_a_total_there_are_no_blocks_and_no_drift(corruption: Any) -> None:
    with pytest.raises(ValueError, match=r"^drift=True needs lies that are counted.*got corruption="):
        ub.Study([(0.0, 1.0)], corruption=corruption, drift=True)
    study = ub.Study([(0.0, 1.0)], corruption=corruption)
    with pytest.raises(ValueError, match=r"^block='a' needs lies that are counted"):
        study.tell([0.5], 1.0, block="a")
    assert not study.trials


def test_other_bad_input_is_refused_by_a_sentence() -> None:
    with pytest.raises(TypeError, match=r"^drift must be True or False, got drift='yes'"):
        ub.Study([(0.0, 1.0)], drift="yes")
    with pytest.raises(TypeError, match=r"^block must be a function of the round, got block="):
        ub.maximize(f, [(0.0, 1.0)], 3, block=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"or \(point, reading, block\), got initial\[0\]="):
        ub.Study([(0.0, 1.0)], initial=[([0.5], 1.0, "a", "b")])


# --- maximize --------------------------------------------------------------------------------------


def test_maximize_asks_for_the_block_of_each_round_right_before_f() -> None:
    seen: list[Any] = []

    def read(x: Any) -> float:
        seen.append(f(x))
        return f(x)

    def block(t: int) -> str:
        seen.append(t)
        return day(t)

    initial = [([0.1], 0.2, "Sunday"), ([0.3], 0.5, "Sunday")]
    result = ub.maximize(read, [(0.0, 1.0)], 6, seed=0, initial=initial, block=block, progress=False)
    assert seen[::2] == [3, 4, 5, 6, 7, 8]
    assert [each.block for each in result.trials] == ["Sunday", "Sunday", *map(day, range(3, 9))]
    assert list(result.offsets) == ["Sunday", "Monday", "Tuesday"]


def test_a_bad_label_ends_a_run_before_f_is_called() -> None:
    calls: list[Any] = []
    with pytest.raises(TypeError, match=r"^block must be"):
        ub.maximize(calls.append, [(0.0, 1.0)], 3, block=lambda t: [t], progress=False)  # type: ignore[arg-type]
    assert not calls


def test_a_run_with_threads_has_blocks_too() -> None:
    result = ub.maximize(f, [(0.0, 1.0)], 8, seed=0, block=day, n_jobs=2, progress=False)
    assert {each.t: each.block for each in result.trials} == {t: day(t) for t in range(1, 9)}


# --- files, tables, what is taken back -------------------------------------------------------------


@pytest.mark.parametrize("has_blocks", [True, False])
def test_a_study_goes_on_exactly(tmp_path: Path, has_blocks: bool) -> None:
    whole, file = (BY_DAY if has_blocks else DRIFTING), tmp_path / "study.json"
    words: dict[str, Any] = {"n_rounds": T, "seed": 1, "drift": not has_blocks, "file": file}
    with ub.Study([(0.0, 1.0)], **words) as study:
        for t in range(1, 10):
            query = study.ask()
            off = OFF[day(t)] if has_blocks else drifts(t)
            study.tell(query, f(query.x) + noise(t) + off, block=day(t) if has_blocks else None)
            if t % 4 == 0:
                study.recommend()  # when somebody asks does not matter
    with ub.Study([(0.0, 1.0)], **words) as study:
        played(has_blocks=has_blocks, study=study)
        assert_same_run(study.result(), whole.result())
        assert study.offsets() == whole.offsets()
    assert_same_run(ub.Study.load(file).result(), whole.result())


def test_a_file_from_before_there_were_blocks_is_read(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    with ub.Study([(0.0, 1.0)], n_rounds=T, seed=1, file=file) as study:
        for _ in range(3):
            query = study.ask()
            study.tell(query, f(query.x))
    lines = lines_of(file)
    del lines[0]["plan"]["drift"]
    for line in lines[1:]:
        for row in line.get("told", []):
            del row["block"]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with ub.Study([(0.0, 1.0)], n_rounds=T, seed=1, file=file) as again:
        assert [each.block for each in again.trials] == [None] * 3
        again.tell(again.ask(), 1.0, block="Monday")
    with pytest.raises(ValueError, match="plan drift was False, got True"):
        ub.Study([(0.0, 1.0)], n_rounds=T, seed=1, drift=True, file=file)


def test_a_label_that_no_study_can_have_had_is_refused_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    BY_DAY.save(file)
    file.write_text(file.read_text().replace('"block": "Monday"', '"block": [1]', 1))
    with pytest.raises(ValueError, match="block must be"):
        ub.Study.load(file)


def test_initial_readings_with_other_blocks_are_others(tmp_path: Path) -> None:
    words: dict[str, Any] = {"seed": 0, "file": tmp_path / "study.json"}
    ub.Study([(0.0, 1.0)], initial=[([0.5], 1.0, "a")], **words).close()
    ub.Study([(0.0, 1.0)], initial=[([0.5], 1.0, "a")], **words).close()
    with pytest.raises(ValueError, match="other initial readings"):
        ub.Study([(0.0, 1.0)], initial=[([0.5], 1.0, "b")], **words)


def test_a_table_has_the_block_and_what_is_taken_off() -> None:
    pytest.importorskip("pandas")
    frame = BY_DAY.to_dataframe()
    assert [*frame["block"]] == [day(t) for t in range(1, T + 1)]
    np.testing.assert_allclose(frame["offset"], [BY_DAY.offsets()[day(t)][0] for t in range(1, T + 1)])
    assert DRIFTING.to_dataframe()["offset"].is_monotonic_increasing
    plain = ub.Study([(0.0, 1.0)], initial=[([0.5], 1.0), ([0.4], 1.0), ([0.1], 0.0)])
    assert "block" not in plain.to_dataframe()


def test_a_reading_that_is_taken_out_leaves_no_trace() -> None:
    study, other = ub.Study([(0.0, 1.0)], seed=1), ub.Study([(0.0, 1.0)], seed=1)
    for t in range(1, 11):
        x = [(0.37 * t) % 1.0]
        study.tell(x, f(x) + OFF[day(t)], block=day(t))
        other.tell(x, None if t == 4 else f(x) + OFF[day(t)], block=day(t))
    study.recommend()
    study.retract(4, "the wrong sample", unrelated_to_value=True)
    assert study.offsets() == other.offsets()
    assert study.recommend().estimate == other.recommend().estimate
