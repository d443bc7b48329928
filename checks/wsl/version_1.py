"""WSL 1, which has no GPU compute."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.maybe import known, known_or
from gpudoctor.targets import wsl_machine
from gpudoctor.tasks import Shell, cmd


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    name = facts.host.environment.get("WSL_DISTRO_NAME", "DISTRIBUTION")
    return (
        Fix(
            "Convert the distribution to WSL 2, in PowerShell on Windows; it takes a few minutes and keeps your files.",
            (
                cmd("wsl.exe", "--update", person=True),
                cmd("wsl.exe", "--list", "--verbose"),
                cmd("wsl.exe", "--set-version", name, "2", person=True),
            ),
            "reinstall-package",
            needs="distribution restart",
            impact="persistent",
            undo=(cmd("wsl.exe", "--set-version", name, "1", person=True),),
            verify=Shell("uname -r; ls -l /dev/dxg", lookup=True),
        ),
    )


@check(
    title="WSL 1 has no GPU access",
    severity=Severity.WARNING,
    cause="WSL 1 translates Linux system calls and has no Linux kernel, so there is no /dev/dxg through which CUDA or "
    "ROCm could reach the Windows driver. GPU computing needs WSL 2.",
    fixes=_fixes,
    references=(wsl.CUDA_ON_WSL, wsl.MICROSOFT),
    targets=wsl_machine,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def version_1(facts: Facts) -> Problem | None:
    """An ERROR where a framework for a GPU is installed."""
    if known(facts.host.wsl) != 1:
        return None
    wanted = any(isinstance(f.cuda, str) or isinstance(f.hip, str) for p in facts.pythons for f in p.frameworks)
    release = known_or(facts.host.kernel.release, "of WSL 1")
    return Problem(
        f"This distribution runs under WSL 1 (kernel {release}), which has no access to the GPU.",
        (f"uname -r: {release}",),
        severity=Severity.ERROR if wanted else Severity.WARNING,
    )
