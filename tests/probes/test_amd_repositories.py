"""AMD's repositories in the files of apt, dnf and zypper."""

from gpudoctor.facts import AmdRepository
from gpudoctor.probes.amd.repositories import repositories
from gpudoctor.recorded_machine import RecordedMachine

APT, RPM = "/etc/apt/sources.list.d", "/etc/yum.repos.d"
ROCM = "https://repo.radeon.com/rocm/apt/6.3.4"


def found(files: dict[str, str]) -> list[tuple[str, str | None]]:
    """Address and suite of each."""
    return [(one.address, one.suite) for one in repositories(RecordedMachine(files))]


def test_one_line_style() -> None:
    text = (
        "# AMD\n"
        "deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/rocm/apt/6.3.4 jammy main\n"
        "#deb https://repo.radeon.com/rocm/apt/5.7 focal main\n"
        "deb-src https://repo.radeon.com/amdgpu/6.3.4/ubuntu jammy main\n"
        "deb https://repo.radeon.com/amdgpu/6.3.4/ubuntu/ jammy main\n"
    )
    files = {f"{APT}/rocm.list": text, f"{APT}/rocm.list.save": "deb https://repo.radeon.com/rocm/apt/1 a main\n"}
    assert found(files) == [(ROCM, "jammy"), ("https://repo.radeon.com/amdgpu/6.3.4/ubuntu", "jammy")]
    assert repositories(RecordedMachine(files))[0] == AmdRepository(
        path=f"{APT}/rocm.list", address=ROCM, suite="jammy"
    )


def test_deb822_style() -> None:
    text = (
        "Types: deb\nURIs: https://repo.radeon.com/rocm/apt/7.2\nSuites: noble\nComponents: main\n\n"
        "Enabled: no\nTypes: deb\nURIs: https://repo.radeon.com/rocm/apt/6.4\nSuites: jammy\n\n"
        "Types: deb-src\nURIs: https://repo.radeon.com/rocm/apt/6.2\nSuites: jammy\n"
    )
    assert found({f"{APT}/rocm.sources": text}) == [("https://repo.radeon.com/rocm/apt/7.2", "noble")]


def test_rpm() -> None:
    text = (
        "[ROCm-6.3.4]\nname=ROCm6.3.4\nbaseurl=https://repo.radeon.com/rocm/rhel9/6.3.4/main\nenabled=1\n"
        "[amdgpu]\nbaseurl = https://repo.radeon.com/amdgpu/6.3.4/el/9.5/main/x86_64/\n"
        "[old]\nbaseurl=https://repo.radeon.com/rocm/rhel8/6.0/main\nenabled=0\n"
    )
    assert found({f"{RPM}/rocm.repo": text}) == [
        ("https://repo.radeon.com/rocm/rhel9/6.3.4/main", None),
        ("https://repo.radeon.com/amdgpu/6.3.4/el/9.5/main/x86_64", None),
    ]


def test_other_servers_and_logins() -> None:
    assert found({f"{APT}/docker.list": "deb https://download.docker.com/linux/ubuntu noble stable\n"}) == []
    secret = {f"{APT}/rocm.list": "deb https://me:word@mirror/repo.radeon.com/rocm/apt/7.2 noble main\n"}
    assert found(secret) == [("https://***@mirror/repo.radeon.com/rocm/apt/7.2", "noble")]
    assert found({}) == []
