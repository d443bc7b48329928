"""torch.compile of a PyTorch that is older than the support for its Python."""

from typing import Any

import pytest

from gpudoctor.checks.pytorch.compile_unsupported import compile_unsupported
from gpudoctor.facts import Facts, LiveFramework
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.environments import commands, environment, one, torch

LIVE = LiveFramework(available=True)
MESSAGE = "torch.compile of PyTorch {} does not support Python {}: it raises RuntimeError. PyTorch {} does."


def on_python(python: Any, number: Any) -> Facts:
    return change(environment(torch(number, live=LIVE)), "pythons.0.version", python)


@pytest.mark.parametrize(
    ("python", "number", "verdict"),
    [
        ("3.14.0", "2.9.1+cu128", ("problem", MESSAGE.format("2.9.1+cu128", "3.14", "2.10"))),
        ("3.14.0", "2.10.0", ("pass", "")),
        ("3.13.5", "2.9.1", ("pass", "")),
        ("3.13.5", "2.5.1", ("problem", MESSAGE.format("2.5.1", "3.13", "2.6"))),
        ("3.12.3", "2.3.1", ("problem", MESSAGE.format("2.3.1", "3.12", "2.4"))),
        ("3.12.3", "2.4.0", ("pass", "")),
        ("3.11.9", "2.0.1", ("problem", MESSAGE.format("2.0.1", "3.11", "2.1"))),
        ("3.10.9", "2.0.1", ("pass", "")),
        ("3.99.0", "2.9.1", ("pass", "")),
        (Unknown("closed"), "2.9.1", ("unknown", "closed")),
        ("3.14.0", Unknown("closed"), ("unknown", "closed")),
    ],
)
def test_compile_unsupported(python: Any, number: Any, verdict: tuple[str, str]) -> None:
    assert one(compile_unsupported, on_python(python, number)) == verdict


def test_a_pytorch_that_sees_no_gpu_has_other_troubles() -> None:
    blind = change(on_python("3.14.0", "2.9.1"), "pythons.0.frameworks.0.live.available", False)
    assert one(compile_unsupported, blind) == ("pass", "")


def test_the_newer_pytorch_is_one_for_this_driver() -> None:
    typed = commands(compile_unsupported, on_python("3.14.0", "2.9.1"))
    assert "PyTorch 2.10 and newer compile on it. Install the cu126 build" in typed
    old = change(on_python("3.14.0", "2.9.1"), "nvidia.cuda.version", "11.4")
    assert "2.10" not in commands(compile_unsupported, old)
