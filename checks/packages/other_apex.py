"""PyPI's package apex, which is not NVIDIA's."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.python import uninstall
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import package
from gpudoctor.targets import OnPython, pythons


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    message = (
        "Uninstall it. For mixed precision use PyTorch's torch.amp, which replaced apex.amp; NVIDIA's apex has to be "
        "built from source: https://github.com/NVIDIA/apex#installation"
    )
    return (Fix(message, (uninstall(on.python, "apex"),), "reinstall-package"),)


@check(
    title="The installed apex is not NVIDIA's",
    severity=Severity.WARNING,
    cause="On PyPI the name apex belongs to a toolkit for web authentication (0.9.10.dev0). NVIDIA's apex, version "
    "0.1, is not there; `from apex import amp` fails.",
    fixes=_fixes,
    references=("https://pypi.org/project/apex/", "https://github.com/zai-org/CogVLM/pull/277"),
    targets=pythons,
    only_with=("pythons.packages.name=apex",),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def other_apex(on: OnPython) -> str | None:
    """An apex of PyPI's version, in an environment with PyTorch."""
    found = package(on.python, "apex")
    if found is None or not found.version.startswith("0.9") or one_of(on.python, "torch") is None:
        return None
    return f"apex {found.version} is PyPI's web toolkit of that name, not NVIDIA's PyTorch extension."
