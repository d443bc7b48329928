"""nvcc is from another CUDA major version than PyTorch."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install
from gpudoctor.fixes.toolkit import toolkit
from gpudoctor.fixes.torch_build import torch_family
from gpudoctor.knowledge import torch as torch_table
from gpudoctor.maybe import known, known_or, present
from gpudoctor.queries.build_toolkit import is_taken_for_extensions
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import major, release
from gpudoctor.targets import ANY_GPU, OnFramework, torches


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    wanted = present(on.framework.cuda)
    fixes = [toolkit(on.facts, on.python, wanted)]
    version, nvcc = on.framework.version, known_or(on.facts.toolkits.home.nvcc, None) or ""
    variant = torch_table.cuda_variant(nvcc)
    if isinstance(version, str) and any(variant in row.wheels for row in torch_table.torch().release):
        command = install(on.python, *torch_family(on.python), index=torch_table.index_of(variant), force=True)
        message = f"Install PyTorch's build for CUDA {nvcc} ({variant}), if {release(version)} has one."
        fixes.append(Fix(message, (command,), "reinstall-package"))
    return tuple(fixes)


@check(
    title="nvcc and PyTorch have different CUDA major versions: extensions do not build",
    severity=Severity.WARNING,
    cause="torch.utils.cpp_extension compiles with the nvcc in CUDA_HOME, else the one on PATH, and rejects another "
    "major version than PyTorch's own. Installed wheels are not affected; the CUDA version in nvidia-smi is "
    "irrelevant here.",
    fixes=_fixes,
    references=(
        "https://docs.pytorch.org/docs/stable/cpp_extension.html",
        "https://github.com/vllm-project/vllm/issues/1453",
    ),
    targets=torches,
    only_with=(f"{ANY_GPU} pythons.frameworks.cuda?",),
    caused_by=("cuda.home-stale", "cuda.nvcc-without-gpu", "pytorch.arch-missing", "pytorch.driver-too-old"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def nvcc_mismatch(on: OnFramework) -> Problem | None:
    """The majors of nvcc and of PyTorch's CUDA differ."""
    cuda = known(on.framework.cuda)
    home = on.facts.toolkits.home
    if cuda is None or not nvidia_gpus(on.facts) or home.path is None:
        return None
    nvcc = known(home.nvcc)
    if nvcc is None or major(nvcc) == major(cuda):
        return None
    meant = is_taken_for_extensions(on.facts, on.python)
    message = (
        f"nvcc is {nvcc} ({home.path}, from {home.found_by}), but {on.name} is built for CUDA {cuda}: extensions do "
        "not build."
    )
    return Problem(message, severity=None if meant else Severity.ADVICE)
