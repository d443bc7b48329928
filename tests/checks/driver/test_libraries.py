"""A driver's library that is there and that the loader refuses: never a pass."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge, run
from gpudoctor.checks.driver.crashes import crashes
from gpudoctor.checks.driver.library_broken import library_broken
from gpudoctor.checks.driver.library_missing import library_missing
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import change, library, nvidia_host, plain_host, with_framework
from tests.checks.environments import blind, commands, one, severity, torch
from tests.checks.nvidia_machines import having

FOLDER = "/usr/lib/x86_64-linux-gnu"
NVML, CUDA = f"{FOLDER}/libnvidia-ml.so.1", f"{FOLDER}/libcuda.so.1"
WITHOUT = Unknown("it was not loaded")


IDS = ("driver.library-broken", "driver.library-missing", "driver.cuda-error", "pytorch.no-gpu")


def refused(words: str, which: str = "nvml", facts: Facts | None = None, **changes: Any) -> Facts:
    """A healthy machine, of which one library is not loaded."""
    plain = {f"nvidia__{which}__{name}": None for name in ("loaded", "code")}
    more = {"nvidia__cuda__devices": ()} if which == "cuda" else {}
    return having(facts, **{**plain, **more, f"nvidia__{which}__text": words, **changes})


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (f"{NVML}: undefined symbol: nvmlGone", "It needs a function (nvmlGone) that no library here has"),
        (f"{NVML}: undefined symbol: gone, version GLIBC_2.38", "It needs a function (gone)"),
        ("libnvidia-ml.so.1: wrong ELF class: ELFCLASS32", "The file is for another CPU architecture."),
        (f"{NVML}: file too short", "The file is not a complete library"),
        (f"{NVML}: invalid ELF header", "The file is not a complete library"),
        ("libnvidia-part.so.1: cannot open shared object file: No such file or directory", "It needs libnvidia-part"),
        (
            "libnvidia-ml.so.1: cannot open shared object file: Permission denied",
            "This user has no permission to read the file.",
        ),
    ],
)
def test_a_library_that_does_not_load(words: str, why: str) -> None:
    facts = refused(words)
    assert one(library_broken, facts) == (
        "problem",
        f"{NVML} cannot be loaded: nvidia-smi fails, and so do NCCL and vLLM.",
    )
    assert severity(library_broken, facts) == "fail"
    (verdict,) = run(library_broken, facts)
    assert verdict.problem is not None
    assert verdict.problem.evidence == (words,)
    assert (verdict.problem.cause or "").startswith(why)
    assert "sudo apt-get install --reinstall libnvidia-compute-570" in commands(library_broken, facts)


def test_libcuda_is_the_root_of_what_the_frameworks_say() -> None:
    ill = with_framework(torch(live=blind()), nvidia_host())
    facts = refused(f"{CUDA}: undefined symbol: gone", "cuda", ill)
    found = build(facts, judge(facts, catalogue.load(IDS))).findings
    assert [(f.check, f.status) for f in found] == [("driver.library-broken", "fail")]
    assert found[0].consequences[0].check == "pytorch.no-gpu"
    both = refused(f"{NVML}: file too short", facts=facts)
    assert one(library_broken, both)[1] == (
        f"{CUDA} cannot be loaded: no program can use CUDA. libnvidia-ml.so.1 cannot be loaded either."
    )


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        ({"host__container": "docker"}, "recreate the container from its image"),
        ({"nvidia__kernel__installer": "runfile"}, "sudo sh NVIDIA-Linux-x86_64-570.169.run --dkms"),
        (
            {
                "nvidia__nvml__libraries": (
                    library("libnvidia-ml.so.1", path="/old/x.so.1", found_by="LD_LIBRARY_PATH"),
                ),
                "host__environment": {"LD_LIBRARY_PATH": "/old:/opt/lib"},
            },
            "export LD_LIBRARY_PATH=/opt/lib",
        ),
        (
            {"nvidia__kernel__packages": (("libnvidia-compute-570-server", "570", "ii"),)},
            "libnvidia-compute-570-server",
        ),
    ],
)
def test_the_fix_is_whoever_put_it_there(changes: dict[str, Any], fix: str) -> None:
    assert fix in commands(library_broken, refused(f"{NVML}: file too short", **changes))


def test_a_c_library_that_is_too_old_needs_another_image() -> None:
    words = f"/lib/libc.so.6: version `GLIBC_2.34' not found (required by {CUDA})"
    said = commands(library_broken, refused(words, "cuda", host__container="docker"))
    assert said == "Use an image or a distribution with a newer C library, or a driver of an older branch."


@pytest.mark.parametrize(
    "facts",
    [
        nvidia_host(),
        plain_host(),
        # Where no copy is in the loader's reach, it is missing and not broken.
        refused("libnvidia-ml.so.1: cannot open shared object file: No such file or directory"),
        refused("there is no libnvidia-ml.so.1", nvidia__nvml__libraries=()),
        having(nvidia__nvml__code=18, nvidia__nvml__text="Driver/library version mismatch"),
    ],
)
def test_what_loads_or_is_missing_is_not_broken(facts: Facts) -> None:
    assert run(library_broken, facts)[0].outcome.value in ("pass", "skipped")


def test_a_file_cut_short_ends_the_program_with_sigbus() -> None:
    facts = change(having(nvidia__nvml__code=WITHOUT), "nvidia.nvml.died", "SIGBUS")
    (verdict,) = run(crashes, facts)
    assert verdict.problem is not None
    assert "truncated" in str(verdict.problem.cause)
    assert "libnvidia-compute-570" in commands(crashes, facts)


def test_installed_packages_without_their_files_are_installed_again() -> None:
    facts = having(nvidia__nvml__libraries=(), nvidia__nvml__code=None)
    assert "sudo apt-get install libnvidia-compute-570" in commands(library_missing, facts)
    facts = having(facts, nvidia__kernel__packages=(("libnvidia-compute-570", "570", "ii"),))
    assert "sudo apt-get install --reinstall libnvidia-compute-570" in commands(library_missing, facts)


def test_the_vgpu_managers_driver_has_no_cuda() -> None:
    facts = having(
        nvidia__cuda__libraries=(), nvidia__cuda__code=None, nvidia__kernel__modules=("nvidia", "nvidia_vgpu_vfio")
    )
    assert (
        "is the vGPU manager's (nvidia_vgpu_vfio is loaded), which contains no CUDA" in one(library_missing, facts)[1]
    )
    assert severity(library_missing, facts) == "advice"  # a host of virtual machines needs none
    assert commands(library_missing, facts).startswith("Compute in a virtual machine")
    wanted = change(facts, "containers.docker_runtimes", ("runc", "nvidia"))
    assert severity(library_missing, wanted) == "fail"
