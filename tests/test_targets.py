"""Whom a check is asked about, where that is a judgement of its own."""

import msgspec
import pytest

from gpudoctor.facts.llama_cpp import GgmlBackend
from gpudoctor.maybe import Unknown, UnknownFactError
from gpudoctor.targets import amd_compute, frameworks, lives, pairs
from tests.builders import change, framework, live, nvidia_host, with_framework
from tests.checks.amd_machines import amd_host

NO_FILE = Unknown("/usr/bin/rocminfo belongs to the distribution, which installs no version file")
NOT_READ = Unknown("not to be seen")


@pytest.mark.parametrize(
    ("rocm", "path", "asked"),
    [("6.3.4", "/opt/rocm", 1), (NO_FILE, "/usr", 1), (None, None, 0)],
    ids=["AMD's packages", "the distribution's packages", "none"],
)
def test_whoever_has_rocm_wants_to_compute(rocm: object, path: object, asked: int) -> None:
    assert len(list(amd_compute(change(amd_host(rocm=rocm, rocm_path=path), "pythons", ())))) == asked


def test_nobody_is_passed_over_because_nobody_could_look() -> None:
    with pytest.raises(UnknownFactError, match="not to be seen"):
        list(amd_compute(change(amd_host(rocm=NOT_READ, rocm_path=NOT_READ), "pythons", ())))
    assert len(list(amd_compute(amd_host(rocm=NOT_READ, rocm_path=NOT_READ)))) == 1  # its wheel is for ROCm


def test_the_environment_is_named_where_there_are_several() -> None:
    facts = with_framework(framework(live=live()), nvidia_host())
    path, name = facts.pythons[0].path, "PyTorch 2.7.1"
    assert [(about.label, on.name) for about, on in frameworks(facts)] == [(name, name)]
    other = msgspec.structs.replace(facts.pythons[0], path="/other/bin/python")
    both = change(facts, "pythons", (facts.pythons[0], other))
    named = [f"{name} in {path}", f"{name} in /other/bin/python"]
    assert [about.label for about, _ in frameworks(both)] == named
    assert [on.name for _, on in lives(both)] == named
    assert [about.label for about, _ in pairs(both)] == [f"{one} on GPU 0" for one in named]


@pytest.mark.parametrize(
    ("container", "kinds", "asked"),
    [("docker", ("hip",), 1), ("docker", ("hip", "cuda"), 0), ("docker", ("vulkan",), 0), (None, ("hip",), 0)],
)
def test_an_image_of_llama_cpp_for_rocm_wants_the_gpu(
    container: str | None, kinds: tuple[str, ...], asked: int
) -> None:
    backends = tuple(GgmlBackend(kind=kind, path=f"/app/libggml-{kind}.so", linked=False) for kind in kinds)
    facts = change(change(amd_host(rocm=None, rocm_path=None), "pythons", ()), "host.container", container)
    assert len(list(amd_compute(change(facts, "llama_cpp.backends", backends)))) == asked
