"""Which backend Keras would take, by its own rules."""

import pytest

from gpudoctor.facts import Package
from gpudoctor.maybe import Unknown
from gpudoctor.probes.python.keras import probe
from gpudoctor.recorded_machine import RecordedMachine

HOME = {"HOME": "/home/me"}
FILE = "/home/me/.keras/keras.json"
TORCH = '{"floatx": "float32", "backend": "torch"}'


def keras(version: str = "3.9.2") -> tuple[Package, ...]:
    return (Package(name="keras", version=version, directory="/site"),)


@pytest.mark.parametrize(
    ("files", "env", "expected"),
    [
        ({}, HOME, ("tensorflow", "default")),
        ({FILE: TORCH}, HOME, ("torch", FILE)),
        ({FILE: TORCH}, HOME | {"KERAS_BACKEND": "jax"}, ("jax", "KERAS_BACKEND")),
        ({FILE: TORCH}, HOME | {"KERAS_BACKEND": ""}, ("torch", FILE)),
        ({"/k/keras.json": TORCH}, HOME | {"KERAS_HOME": "/k"}, ("torch", "/k/keras.json")),
        ({FILE: "no json"}, HOME, ("tensorflow", FILE)),
        ({FILE: "[]"}, HOME, (Unknown(f"{FILE} names no backend"), FILE)),
        ({FILE: "{}"}, HOME, ("tensorflow", FILE)),
        ({}, {}, ("tensorflow", "default")),
    ],
)
def test_the_variable_comes_before_the_file(
    files: dict[str, str], env: dict[str, str], expected: tuple[object, str]
) -> None:
    assert probe(RecordedMachine(files, env=env), keras()) == expected


def test_a_file_that_is_closed() -> None:
    machine = RecordedMachine({FILE: TORCH}, env=HOME, errors={FILE: "EACCES"})
    assert probe(machine, keras()) == (Unknown(f"{FILE}: Permission denied"), FILE)


@pytest.mark.parametrize("packages", [(), keras("2.15.0"), keras("odd")])
def test_keras_2_has_no_choice(packages: tuple[Package, ...]) -> None:
    assert probe(RecordedMachine(env={"KERAS_BACKEND": "torch"}), packages) == (None, "")
