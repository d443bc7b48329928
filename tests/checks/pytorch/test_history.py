"""What brought a PyTorch without GPU support, and how to keep it from coming back."""

from typing import Any

import pytest

from gpudoctor import check_engine
from gpudoctor.checks.pytorch.cpu_build import cpu_build
from gpudoctor.facts import Facts
from gpudoctor.facts.history import ChangeHistory, FrameworkChange
from gpudoctor.tasks.as_typed import typed
from tests.builders import change, framework, nvidia_host, python

PIP: dict[str, Any] = {
    "name": "torch",
    "version": "2.7.1+cpu",
    "time": "2026-11-20 14:03:11",
    "installer": "pip",
    "asked_for": False,
    "wanted_by": ("ultralytics 8.3.0",),
}
CONDA: dict[str, Any] = {
    "name": "pytorch",
    "version": "2.4.0 cpu_generic_py311h123_1",
    "time": "2026-11-20 14:03:11",
    "installer": "conda",
    "old": "2.3.0 py3.11_cuda12.1_cudnn8.9.2_0",
    "command": "conda install ultralytics",
}
ENV = "/opt/env"


def machine(**brought: Any) -> Facts:
    one = python(framework(variant="cpu", cuda=None), prefix=ENV, kind="venv", path=f"{ENV}/bin/python")
    facts = change(nvidia_host(), "pythons", (one,))
    record = (FrameworkChange(python=f"{ENV}/bin/python", **brought),) if brought else ()
    return change(facts, "history", ChangeHistory(builds=record))


@pytest.mark.parametrize(
    ("brought", "line", "commands", "undo"),
    [
        (
            PIP,
            "torch 2.7.1+cpu was installed by pip as a requirement of ultralytics 8.3.0 on 2026-11-20 14:03",
            (
                f"{ENV}/bin/python -m pip list --format=freeze | grep -E '^torch(vision|audio)?==' > "
                f"{ENV}/gpu-constraints.txt",
                f"{ENV}/bin/python -m pip config --site set global.constraint {ENV}/gpu-constraints.txt",
            ),
            (
                f"{ENV}/bin/python -m pip config --site unset global.constraint",
                f"rm {ENV}/gpu-constraints.txt",
            ),
        ),
        (
            CONDA,
            "pytorch 2.4.0 cpu_generic_py311h123_1 was installed by conda in place of 2.3.0 "
            "py3.11_cuda12.1_cudnn8.9.2_0 on 2026-11-20 14:03: `conda install ultralytics`",
            (f"echo 'pytorch=*=*cuda*' >> {ENV}/conda-meta/pinned",),
            (f"sed -i '/^pytorch=.*cuda/d' {ENV}/conda-meta/pinned",),
        ),
    ],
)
def test_what_brought_it_and_how_to_pin(
    brought: dict[str, Any], line: str, commands: tuple[str, ...], undo: tuple[str, ...]
) -> None:
    (verdict,) = check_engine.run(cpu_build, machine(**brought))
    assert verdict.problem is not None
    assert verdict.problem.evidence[0] == line
    assert [fix.later for fix in verdict.fixes] == [False] * (len(verdict.fixes) - 1) + [True]
    assert verdict.fixes[-1].commands == commands
    assert typed(verdict.fixes[-1].undo) == undo


@pytest.mark.parametrize(
    "brought",
    [
        {},
        PIP | {"asked_for": True, "wanted_by": ()},  # somebody named the CPU build: no other package replaced it
        PIP | {"asked_for": None, "installer": "uv", "wanted_by": ()},
        CONDA | {"old": None},
        CONDA | {"old": "2.2.0 py3.11_cpu_0"},
    ],
)
def test_without_a_replacement_nothing_is_pinned(brought: dict[str, Any]) -> None:
    (verdict,) = check_engine.run(cpu_build, machine(**brought))
    assert not any(fix.later for fix in verdict.fixes)
    assert ("was installed by" in verdict.problem.evidence[0]) == bool(brought)  # type: ignore[union-attr]
