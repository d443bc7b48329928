"""Which AMD GPUs a ROCm release supports, and where an override helps."""

import pytest

from gpudoctor.knowledge import rocm


@pytest.mark.parametrize(
    ("gfx", "override"),
    [
        ("gfx1031", "10.3.0"),
        ("gfx1032", "10.3.0"),
        ("gfx1034", "10.3.0"),
        ("gfx1035", "10.3.0"),
        ("gfx1036", "10.3.0"),
        ("gfx1101", "11.0.0"),
        ("gfx1102", "11.0.0"),
        ("gfx1030", None),
        ("gfx1100", None),
        ("gfx1103", None),
        ("gfx1150", None),
        ("gfx1151", None),
        ("gfx1010", None),
        ("gfx803", None),
        ("nothing", None),
    ],
)
def test_override_for(gfx: str, override: str | None) -> None:
    assert rocm.override_for(gfx) == override


def test_every_override_stays_in_its_family() -> None:
    for gfx, override in rocm.rocm().override.items():
        borrowed = rocm.gfx_of_override(override)
        assert borrowed is not None
        assert rocm.isa_family(gfx) == rocm.isa_family(borrowed)


@pytest.mark.parametrize(
    ("gfx", "family"),
    [
        ("gfx1031", "10.3"),
        ("gfx1010", "10.1"),
        ("gfx1102", "11.0"),
        ("gfx1151", "11.5"),
        ("gfx1201", "12.0"),
        ("gfx90a", "9.0.a"),
        ("gfx906", "9.0.6"),
        ("gfx803", "8.0.3"),
        ("sm_86", None),
        ("", None),
    ],
)
def test_isa_family(gfx: str, family: str | None) -> None:
    assert rocm.isa_family(gfx) == family


@pytest.mark.parametrize(
    ("number", "gfx", "supported"),
    [
        ("6.3.3", "gfx1100", True),
        ("6.3", "gfx1101", False),
        ("7.2.1", "gfx1151", True),
        ("6.4", "gfx906", False),
        ("8.0", "gfx1100", None),
    ],
)
def test_supports(number: str, gfx: str, supported: bool | None) -> None:
    assert rocm.supports(number, gfx) is supported


@pytest.mark.parametrize(
    ("user_space", "driver", "works"),
    [
        ("6.1", "6.3", True),
        ("6.0", "6.3", False),
        ("6.4", "6.3", None),
        ("7.0", "7.2.4", True),
        ("6.2", "7.2", False),
        ("7.2", "10.0", None),
        ("7.0", "6.4", None),
        ("4.0", "6.3", None),
    ],
)
def test_driver_works(user_space: str, driver: str, works: bool | None) -> None:
    assert rocm.driver_works(user_space, driver) is works


@pytest.mark.parametrize(
    ("driver", "number"), [("30.10.1", "7.0"), ("31.40.0", "7.14"), ("6.3.6", "6.3"), ("99.1", None)]
)
def test_release_of_driver(driver: str, number: str | None) -> None:
    assert rocm.release_of_driver(driver) == number


def test_releases_for() -> None:
    assert rocm.releases_for("gfx900") == ("5.7",)
    assert rocm.releases_for("gfx1103") == ("7.14", "10.0")
    assert rocm.releases_for("gfx1031") == ()
    assert rocm.newest() == "10.0"


@pytest.mark.parametrize(
    ("number", "gfx"),
    [
        (80003, "gfx803"),
        (90010, "gfx90a"),
        (90012, "gfx90c"),
        (90402, "gfx942"),
        (100306, "gfx1036"),
        (110000, "gfx1100"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
        (0, None),
    ],
)
def test_gfx_of_target_version(number: int, gfx: str | None) -> None:
    assert rocm.gfx_of_target_version(number) == gfx


@pytest.mark.parametrize(
    ("text", "gfx"), [("10.3.0", "gfx1030"), ("9.0.10", "gfx90a"), ("11", None), ("a.b.c", None), ("", None)]
)
def test_gfx_of_override(text: str, gfx: str | None) -> None:
    assert rocm.gfx_of_override(text) == gfx


def test_cards_of() -> None:
    assert rocm.cards_of("gfx1031") == "Radeon RX 6700, RX 6700 XT, RX 6750 XT"
    assert rocm.cards_of("gfx9999") is None


def test_targets_that_run_siblings_code() -> None:
    assert rocm.generic_targets("gfx11-generic") >= {"gfx1103", "gfx1150"}
    assert rocm.generic_targets("gfx1100") == frozenset()
    assert rocm.hangs_as("gfx1103") == "gfx1100"
    assert rocm.hangs_as("gfx1031") is None
