"""Python environments for the tests of checks: packages, wheels, libraries, and one framework that is ill."""

from typing import Any

import msgspec

from gpudoctor.check_engine import Check
from gpudoctor.facts import Facts, Framework, Need, Package, Python, Toolkits
from gpudoctor.facts.toolkit import CudaHome
from tests.builders import ask, framework, gpu, live, nvidia, nvidia_host, python

SITE = "/opt/env/lib/python3.11/site-packages"
NO_TOOLKIT = Toolkits(
    nvccs=(), home=CudaHome(exists=False, nvcc=None, headers=False), installed=(), libraries=(), cxx="/usr/bin/cc"
)

# The GPUs of the rows: name and compute capability.
BLACKWELL = {"name": "NVIDIA GeForce RTX 5090", "generation": "Blackwell", "capability": "12.0", "chip": "GB202"}
PASCAL = {"name": "NVIDIA GeForce GTX 1080 Ti", "generation": "Pascal", "capability": "6.1", "chip": "GP102"}
A100 = {"name": "NVIDIA A100 80GB PCIe", "generation": "Ampere", "capability": "8.0", "chip": "GA100"}


def package(name: str, version: str, **changes: Any) -> Package:
    """An installed distribution."""
    return Package(**({"name": name, "version": version, "directory": SITE, "installer": "pip"} | changes))


def machine(driver: str = "12.8", toolkits: Toolkits = NO_TOOLKIT, card: dict[str, Any] | None = None) -> Facts:
    """A healthy machine with one GPU, a driver of the given CUDA release, and the given toolkits."""
    whole = nvidia()
    cuda = msgspec.structs.replace(whole.cuda, version=driver, devices=())
    nvml = msgspec.structs.replace(whole.nvml, cuda_version=driver)
    found = msgspec.structs.replace(whole, cuda=cuda, nvml=nvml)
    plain = nvidia_host(nvidia=found, toolkits=toolkits)
    return msgspec.structs.replace(plain, gpus=(gpu(0, **(card or {})),))


def environment(
    *frameworks: Framework, packages: tuple[Package, ...] = (), facts: Facts | None = None, **changes: Any
) -> Facts:
    """A machine with one environment: frameworks, their distributions, and further packages."""
    made = python(*frameworks, **changes)
    everything = () if isinstance(made.packages, msgspec.Struct) else (*made.packages, *packages)
    if not isinstance(made.packages, msgspec.Struct):
        made = msgspec.structs.replace(made, packages=everything)
    return msgspec.structs.replace(facts or machine(), pythons=(made,))


def bare_python(**changes: Any) -> Python:
    """An environment without frameworks."""
    return python(**changes)


def torch(version: Any = "2.7.1", **changes: Any) -> Framework:
    """A healthy PyTorch for CUDA 12.6."""
    return framework("torch", version, **changes)


def need(soname: str, path: str | None = None, how: str = "RUNPATH", **changes: Any) -> Need:
    """A library that a framework needs; without a path it is found nowhere."""
    return Need(soname=soname, needed_by="torch/lib/libtorch_cuda.so", path=path, how=how if path else "", **changes)


def one(check: Check[Any], facts: Facts) -> tuple[str, str]:
    """Outcome and sentence of a check that has one subject."""
    verdicts = ask(check, facts)
    assert len(verdicts) == 1, verdicts
    return verdicts[0]


def commands(check: Check[Any], facts: Facts) -> str:
    """All that the fixes of a check say and let type, one a line."""
    from gpudoctor.check_engine import run
    from gpudoctor.report.fixes import entry

    fixes = (entry(fix, facts) for v in run(check, facts) for fix in v.fixes)
    return "\n".join(line for fix in fixes for line in (fix.message, *fix.commands))


def verifies(check: Check[Any], facts: Facts) -> list[str | None]:
    """The commands that show whether the fixes of a check helped."""
    from gpudoctor.check_engine import run
    from gpudoctor.tasks.as_typed import shown

    return [shown(fix.verify) if fix.verify else None for v in run(check, facts) for fix in v.fixes]


def severity(check: Check[Any], facts: Facts) -> str:
    """The severity of a check's only verdict."""
    from gpudoctor.check_engine import run

    return run(check, facts)[0].severity.value


def blind(**changes: Any) -> Any:
    """A framework's live part in which it uses no GPU."""
    return live(0, **({"error": "No CUDA GPUs are available", "count": 0} | changes))


def change_toolkits(**changes: Any) -> Toolkits:
    """A machine's toolkits, none but for the changes."""
    return msgspec.structs.replace(NO_TOOLKIT, **changes)
