"""Packages that need instructions which the CPU does not have."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.python.cpu_too_old import cpu_too_old
from gpudoctor.facts import Facts, Package
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host, python

WHY = Unknown("not to be seen")
V2 = ("cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3")
KVM64 = ("cx16", "lahf_lm", "pni")


def machine(flags: object, *packages: tuple[str, str], virtual: str | None = "kvm", installer: str = "pip") -> Facts:
    found = tuple(Package(name=n, version=v, directory="/env", installer=installer) for n, v in packages)
    facts = change(nvidia_host(pythons=(python(packages=found),)), "host.cpu_flags", flags)
    return change(facts, "host.virtual", virtual)


NUMPY = "numpy 2.4.2 needs x86-64-v2. This virtual machine's CPU lacks popcnt, sse4_1, sse4_2, ssse3."


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (machine(KVM64, ("numpy", "2.4.2")), ("problem", NUMPY)),
        (machine(KVM64, ("numpy", "2.3.5")), ("pass", "")),
        (machine(V2, ("numpy", "2.4.2")), ("pass", "")),
        (
            machine(V2, ("jaxlib", "0.7.2"), ("tensorflow", "2.20.0"), virtual=None),
            ("problem", "jaxlib 0.7.2 needs AVX, tensorflow 2.20.0 needs AVX. This CPU lacks avx."),
        ),
        (machine((*V2, "avx"), ("jaxlib", "0.7.2"), ("tensorflow", "2.20.0")), ("pass", "")),
        (machine(KVM64, ("numpy", "2.4.2"), installer="conda"), ("pass", "")),  # conda's builds have their own
        (machine(None, ("numpy", "2.4.2")), ("pass", "")),  # no x86-64
        (machine(WHY, ("numpy", "2.4.2")), ("unknown", "not to be seen")),
        (machine(WHY, ("numpy", "2.3.5")), ("pass", "")),
    ],
)
def test_cpu_too_old(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(cpu_too_old, facts) == [verdict]


def test_the_hypervisor_is_set_first_and_a_real_cpu_gets_older_packages() -> None:
    [guest] = run(cpu_too_old, machine(KVM64, ("numpy", "2.4.2")))
    assert guest.fixes[0].place == "outside"
    assert "qm set VMID --cpu host" in guest.fixes[0].commands
    [old] = run(cpu_too_old, machine(KVM64, ("numpy", "2.4.2"), virtual=None))
    [command] = [command for fix in old.fixes for command in fix.commands]
    assert command.endswith("-m pip install 'numpy<2.4.0'")
