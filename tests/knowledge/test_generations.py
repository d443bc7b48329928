"""What a generation says about drivers, modules and toolkits."""

import pytest

from gpudoctor.knowledge import generations


@pytest.mark.parametrize(
    ("capability", "name", "first", "last", "module"),
    [
        ("1.3", "Tesla", 100, 340, "no"),
        ("2.0", "Fermi", 195, 390, "no"),
        ("2.1", "Fermi", 195, 390, "no"),
        ("3.5", "Kepler", 304, 470, "no"),
        ("5.2", "Maxwell", 334, 580, "no"),
        ("6.1", "Pascal", 367, 580, "no"),
        ("7.0", "Volta", 384, 580, "no"),
        ("7.5", "Turing", 410, None, "optional"),
        ("8.6", "Ampere", 450, None, "optional"),
        ("8.9", "Ada", 520, None, "optional"),
        ("9.0", "Hopper", 520, None, "optional"),
        ("12.0", "Blackwell", 570, None, "required"),
        ("10.7", "Rubin", 615, None, "required"),
    ],
)
def test_generation_of_capability(capability: str, name: str, first: int, last: int | None, module: str) -> None:
    found = generations.generation_of_capability(capability)
    assert found is not None
    assert (found.name, found.first_driver, found.last_driver, found.open_module) == (name, first, last, module)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("GA102", "Ampere"),
        ("ad104glm", "Ada"),
        ("GF108M", "Fermi"),
        ("GT218", "Tesla"),
        ("G96", "Tesla"),
        ("GB10B", "Blackwell"),
        ("NV44", None),
        ("", None),
    ],
)
def test_generation_of_code(code: str, name: str | None) -> None:
    found = generations.generation_of_code(code)
    assert (found.name if found else None) == name


def test_what_is_not_known_is_none() -> None:
    assert generations.generation_of_capability("4.2") is None
    assert generations.generation_named("Feynman") is None
    assert generations.toolkits_of("4.2") is None


def test_toolkits_end_with_the_generation() -> None:
    assert generations.toolkits_of("6.1") == ("8.0", "12.9")
    assert generations.toolkits_of("12.0") == ("12.8", None)
    kepler = generations.generation_named("kepler")
    assert kepler is not None
    assert kepler.last_cuda == "11.8"


def test_no_capability_and_no_code_belongs_to_two_generations() -> None:
    capabilities = [c for g in generations.generations() for c in g.capabilities]
    codes = [c for g in generations.generations() for c in g.codes]
    assert len(capabilities) == len(set(capabilities))
    assert len(codes) == len(set(codes))
