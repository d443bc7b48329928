"""What DKMS and the package manager say of AMD's driver and of ROCm."""

from gpudoctor.facts.host import Host
from gpudoctor.facts.nvidia import Dkms
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parsers.dkms import dkms_status

# AMD's own packages of the driver (amdgpu-dkms, before 4.1 rock-dkms), the ground floor of ROCm, also that for WSL, the
# one whose name distributions have, too (rocminfo), and the distributions' packages with the GPUs' firmware
# (knowledge/packages.toml, firmware_amd).
NAMES = (
    "amdgpu-dkms",
    "amdgpu-dkms-firmware",
    "rock-dkms",
    "rocm-dkms",
    "amdgpu-core",
    "rocm-core",
    "hsa-rocr-dev",
    "hsa-rocr",
    "rocm-hip-runtime",
    "hsa-runtime-rocr4wsl-amdgpu",
    "rocminfo4wsl-amdgpu",
    "rocminfo",
    "amd-gpu-firmware",
    "firmware-amd-graphics",
    "kernel-firmware-amdgpu",
    "linux-firmware",
)
_RPM = {"fedora", "rhel", "centos", "rocky", "almalinux", "ol", "suse", "sles", "opensuse-leap", "amzn", "azurelinux"}
# dpkg-query(1), db:Status-Abbrev: what is wanted, what is there, and R for "reinstall".
_NVRA = pattern(r"(\S+)-(\d[^\s-]*-[^\s-]+)\.(?:noarch|x86_64|aarch64)")  # rpm(8): a package without --qf
_STATE = pattern(r"[uihrp][ncHUFWti]R?")
SBIN = ("/usr/sbin", "/sbin", "/usr/bin")

Package = tuple[str, str, str]


def dkms(machine: Machine) -> Maybe[tuple[Dkms, ...] | None]:
    """Return DKMS's lines about amdgpu; None where DKMS is not installed."""
    if machine.which("dkms", SBIN) is None:
        return None
    # A shell script that looks at every module of every kernel: a second on a slow disk.
    ended = machine.run(["dkms", "status"], seconds=20.0)
    if not ended.ok and not ended.out.strip():
        return Unknown(f"dkms status: {ended.err.strip() or ended.missing or 'it timed out'}")
    return tuple(
        Dkms(module=line.module, version=line.version, kernel=line.kernel, state=line.state)
        for line in dkms_status(f"{ended.out}\n{ended.err}")
        if line.module.startswith(("amdgpu", "rock"))
    )


def packages(machine: Machine, host: Host) -> Maybe[tuple[Package, ...]]:
    """Return (name, version, state) of AMD's packages; the state is dpkg's: "ii" installed, "iF" half-configured."""
    family = {known_or(host.distribution.id, ""), *host.distribution.like}
    if family & _RPM:
        ended = machine.run(["rpm", "-q", "--qf", "%{NAME} %{VERSION}-%{RELEASE} ii\\n", *NAMES], seconds=15.0)
    elif {"debian", "ubuntu"} & family:
        # One unknown name makes it fail, and it prints the others all the same.
        ended = machine.run(["dpkg-query", "-W", "-f=${Package} ${Version} ${db:Status-Abbrev}\\n", *NAMES])
    else:
        return Unknown("AMD's packages are known on distributions with dpkg or rpm only")
    if ended.missing or ended.timed_out:
        return Unknown(f"{ended.argv[0]}: {ended.missing or 'it timed out'}")
    found = parse(ended.out)
    return _with_states(machine, found) if any(not state for _, _, state in found) else found


def parse(text: str) -> tuple[Package, ...]:
    """Return the packages in the output of dpkg-query -W, dpkg -l or rpm -q; a state not printed is empty."""
    found: dict[str, Package] = {}
    for words in map(str.split, text.splitlines()):
        if len(words) >= 3 and _STATE.fullmatch(words[0]):  # dpkg -l puts the state first
            words = [words[1], words[2], words[0]]
        if len(words) == 1 and (whole := _NVRA.fullmatch(words[0])):
            words = [whole[1], whole[2], "ii"]
        name = words[0].partition(":")[0] if words else ""
        if name in NAMES and len(words) > 1 and not _STATE.fullmatch(words[1]):
            found[name] = (name, words[1], words[2] if len(words) > 2 and _STATE.fullmatch(words[2]) else "")
    return tuple(found.values())


def _with_states(machine: Machine, found: tuple[Package, ...]) -> tuple[Package, ...]:
    """Old dpkg (before 1.16.2) does not know Status-Abbrev and leaves it out: its table has the states.

    The table is asked for by name too, so what is not in it has no trouble to tell of.
    """
    listed = {name: state for name, _, state in parse(machine.run(["dpkg-query", "-l", *NAMES]).out)}
    return tuple((name, version, state or listed.get(name) or "ii") for name, version, state in found)
