"""torchcodec built for another PyTorch."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.python_rules import companion_for, torch_of_torchcodec
from gpudoctor.maybe import known, present
from gpudoctor.queries.packages import is_own_build, numbers, package
from gpudoctor.targets import OnFramework, torches


def _minor(on: OnFramework) -> str:
    return ".".join(str(n) for n in numbers(present(on.framework.version))[:2])


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    ours = companion_for("torchcodec", _minor(on))
    spec = f"torchcodec{ours or ''}"
    message = f"Install the torchcodec release for PyTorch {_minor(on)}; its metadata does not pin one."
    command = install(on.python, spec, upgrade=not ours)
    proof = verify(on.python, "import torch, torchcodec; print(torchcodec.__version__)")
    return (Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package", verify=proof),)


@check(
    title="torchcodec is built for another PyTorch version",
    severity=Severity.ERROR,
    cause="torchcodec is compiled against one minor release of PyTorch but does not pin it in its metadata, so pip "
    "installs the newest: 'Could not load libtorchcodec'. Its error message also mentions FFmpeg, which it needs as "
    "well.",
    fixes=_fixes,
    references=(
        "https://github.com/meta-pytorch/torchcodec#installing-torchcodec",
        "https://github.com/meta-pytorch/torchcodec/issues/1110",
    ),
    targets=torches,
    only_with=("pythons.packages.name=torchcodec",),
    caused_by=("packages.torchvision-mismatch",),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def torchcodec_mismatch(on: OnFramework) -> str | None:
    """The table names another minor release of PyTorch."""
    codec = package(on.python, "torchcodec")
    wanted = torch_of_torchcodec(codec.version) if codec else None
    if codec is None or wanted is None or codec.installer not in ("pip", "uv", "poetry"):
        return None  # conda builds each release against several releases of PyTorch
    torch = known(on.framework.version) or ""
    if not numbers(torch) or numbers(torch)[:2] == numbers(wanted) or any(map(is_own_build, (torch, codec.version))):
        return None
    return f"torchcodec {codec.version} is compiled for PyTorch {wanted}, but PyTorch {torch} is installed."
