"""The names other people's code may rely on, and how they are called."""

import inspect

import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from unbribable import lab
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.study.plan import Settings

OPTIONS = ["width", "noise", "tail", "gain", "beta"]

# name -> (positional parameters, keyword-only parameters)
SIGNATURES = {
    "Grid": (["points"], ["allows"]),
    "Box": (["low", "high"], ["n_candidates", "snap", "allows"]),
    "LinearConstraint": (["weights", "at_most", "at_least"], []),
    "Real": (["low", "high", "log", "step"], []),
    "Whole": (["low", "high", "log", "step"], []),
    "Choice": (["options"], []),
    "SquaredExponential": (["lengthscale"], []),
    "Matern": (["nu", "lengthscale"], []),
    "Linear": (["scale"], []),
    "Assumptions": (["kernel"], ["B", "B0", "noise_std", "lam", "delta", "c_max"]),
    "GPUCB": (["domain", "assumptions"], []),
    "RobustGPUCB": (["domain", "assumptions"], ["C"]),
    "FastSlowGPUCB": (["domain", "assumptions"], ["C", "alpha", "seed", "with_all", "share", "trust"]),
    "LadderGPUCB": (["domain", "assumptions"], ["unit"]),
    "LayeredGPUCB": (["domain", "assumptions"], ["T", "C", "alpha", "seed", "with_all"]),
    "MaxInformationGain": (["kernel", "X", "lam"], []),
    "audit": (
        ["points", "y", "space"],
        ["target", "direction", "ignore", "block", *Settings.__annotations__],
    ),
}
METHODS = {
    "propose": ([], []),
    "ask": ([], []),
    "tell": (["query", "y"], ["x", "noise_std"]),
    "forget": (["query"], []),
    "retract": (["id_"], ["unrelated_to_value"]),
    "recommend": ([], ["threat", "C", "rule", "x", "units", "stated"]),
    "regret_certificate": ([], ["threat", "C"]),
    "price": (["eps", "x"], ["units"]),
    "bounds": ([], []),
    "details": ([], []),
    "summary": ([], []),
    "state": ([], []),
    "restore": (["state"], []),
}
FIELDS = {
    "Proposal": {"points", "indices", "probabilities", "instances"},
    "Price": {
        "x",
        "index",
        "eps",
        "value",
        "without_cap",
        "least_eps",
        "probability",
        "bribe",
        "lies",
    },
    "Query": {"id", "t", "x", "u", "index", "instance", "mu", "sigma", "width", "ucb"},
    "Recommendation": {
        "x",
        "index",
        "estimate",
        "estimate_sd",
        "lower",
        "upper",
        "regret_bound",
        "guarantee",
        "between_candidates",
    },
}


def parameters(function):
    """Names of positional and of keyword-only parameters, without self."""
    found = inspect.signature(function).parameters.values()
    positional = [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self"]
    return positional, [p.name for p in found if p.kind is p.KEYWORD_ONLY]


def assumptions():
    return ub.Assumptions(ub.SquaredExponential(0.3), B=1.0, B0=1.0, noise_std=0.1)


def test_all_is_sorted_and_names_only_what_exists():
    assert ub.__all__ == sorted(ub.__all__, key=lambda name: (not name.isupper(), name))
    assert all(hasattr(ub, name) for name in ub.__all__)


def test_all_names_everything_that_is_promised():
    assert {*SIGNATURES, *FIELDS, "Player"} <= set(ub.__all__)


def test_the_lab_has_its_own_names():
    assert lab.__all__ == ["Environment", "Record", "rivals", "simulate"]
    assert all(hasattr(lab, name) for name in lab.__all__)
    assert not {*lab.__all__} & {*dir(ub)}
    assert parameters(lab.simulate) == (["player", "environment", "T", "seed"], ["opening", "on_round"])


def test_a_star_import_brings_exactly_all():
    namespace = {}
    exec("from unbribable import *", namespace)
    assert set(namespace) - {"__builtins__"} == set(ub.__all__)


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_public_class_is_built_as_promised(name):
    assert parameters(getattr(ub, name)) == SIGNATURES[name]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_offers_the_promised_methods(name):
    for method, expected in METHODS.items():
        assert parameters(getattr(ALGORITHMS[name].kind, method)) == expected, method
    algorithm = ALGORITHMS[name](ub.Grid([[0.0], [1.0]]), assumptions())
    assert algorithm.detected is None
    assert isinstance(algorithm.summary(), dict)
    assert isinstance(algorithm.knowledge, dict)
    assert isinstance(algorithm.guarantee, Guarantee)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_takes_every_option(name):
    domain = ub.Grid([[0.0], [1.0]])
    words = {"width": "paper", "noise": "paper", "tail": "paper", "gain": "certified"}
    words |= {"beta": 2.0}
    algorithm = ALGORITHMS[name](domain, assumptions(), **words)
    assert algorithm.options.to_dict() == words
    assert [*algorithm.options.to_dict()] == OPTIONS


@pytest.mark.parametrize("name", FIELDS)
def test_a_value_has_the_promised_fields(name):
    value = getattr(ub, name)
    declared = {field for field in FIELDS[name] if isinstance(getattr(value, field, None), property)}
    assert declared | set(value.__dataclass_fields__) >= FIELDS[name]


def test_the_defaults_are_the_documented_ones():
    a = assumptions()
    assert (a.lam, a.delta, a.c_max) == (1.0, 0.1, a.B0)
    fast_slow = ub.FastSlowGPUCB(ub.Grid([[0.0], [1.0]]), a, C=2.0)
    assert fast_slow.alpha == 2.0
    expected = {"width": "exact", "noise": "tight", "tail": "sharp", "gain": "realised"}
    assert fast_slow.options.to_dict() == {**expected, "beta": None}
