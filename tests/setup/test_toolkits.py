"""The CUDA toolkit and cuDNN in plans: the release, from where, and how it is taken back."""

from typing import Any

import pytest

from gpudoctor.facts import Facts, Nvcc, PackageSource
from gpudoctor.knowledge.host_compilers import newest_gcc
from gpudoctor.knowledge.toolkits import repository, toolkits
from gpudoctor.setup.exporters import render
from gpudoctor.setup.plan import Plan
from gpudoctor.tasks.as_typed import typed
from tests.builders import change, framework, plain_host, python
from tests.setup.grounds import distribution, machine
from tests.setup.plans import made, refused, step

KEYRING = (
    "sudo curl -fsSLo /var/cache/apt/archives/cuda-keyring.deb https://developer.download.nvidia.com/compute/cuda/repos"
)


def plan(facts: Facts, *names: str, toolkit: str | None = "", **options: Any) -> Plan:
    return made(facts, *names, toolkit=toolkit, **options)


def commands(found: Plan) -> str:
    return "\n".join(typed(step(found, "toolkit").commands))


def test_it_has_pytorchs_cuda_and_else_the_drivers() -> None:
    assert plan(machine("ada", branch=580), "torch").toolkit == "13.0"
    assert plan(machine("ada", branch=570), "torch").toolkit == "12.6"
    assert plan(machine("ada", branch=570)).toolkit == "12.8"
    assert plan(machine("ada", branch=570), "jax").toolkit == "12.8"
    own = python(framework("torch", "2.9.1+cu126", cuda="12.6"))
    assert plan(change(machine("ada"), "pythons", (own,))).toolkit == "12.6"
    assert plan(machine("pascal", branch=580)).toolkit == "12.9"  # CUDA 13 compiles nothing for it


@pytest.mark.parametrize(
    ("distro", "release", "line"),
    [
        ("ubuntu", "22.04", f"{KEYRING}/ubuntu2204/x86_64/cuda-keyring_1.1-1_all.deb"),
        ("debian", "12", f"{KEYRING}/debian12/x86_64/cuda-keyring_1.1-1_all.deb"),
        (
            "rocky",
            "9.4",
            "sudo dnf config-manager --add-repo https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/cuda-rhel9.repo",
        ),
        (
            "sles",
            "15.6",
            "sudo zypper addrepo https://developer.download.nvidia.com/compute/cuda/repos/sles15/x86_64/cuda-sles15.repo",
        ),
        ("amzn", "2023", "sudo dnf install cuda-toolkit-12-6"),
    ],
)
def test_the_repository_comes_first(distro: str, release: str, line: str) -> None:
    found = plan(distribution(machine("ada", branch=570), distro, release), "torch")
    assert line in commands(found)
    assert "cuda-toolkit-12-6" in commands(found)
    there = change(machine("ada", branch=570), "host.sources", (PackageSource(path="x", kind="nvidia"),))
    assert "repos/" not in commands(plan(distribution(there, distro, release), "torch"))


def test_nvidias_repository_does_not_bring_its_driver_along() -> None:
    own = change(machine("ada", branch=570), "host.sources", ())
    text = commands(plan(own))
    assert "'Package: nvidia-* libnvidia-*" in text
    assert "Pin-Priority: -1" in text
    fedora = commands(plan(distribution(change(machine("ada", branch=580), "host.sources", ()), "fedora", "42")))
    assert "sudo dnf config-manager setopt 'cuda-fedora42-x86_64.excludepkgs=nvidia-driver*," in fedora
    undo = typed(step(plan(own), "toolkit").undo)
    assert undo[-2:] == ("sudo rm /etc/apt/preferences.d/cuda-toolkit-only", "sudo rm /etc/profile.d/cuda-toolkit.sh")


def test_a_release_that_a_repository_lacks_is_refused_with_conda() -> None:
    found = plan(distribution(machine("ada", branch=570), "debian", "13"), "torch")
    assert found.toolkit is None
    assert "has no CUDA toolkit 12.6: it begins with 13.1." in refused(found)["CUDA toolkit"]
    assert "conda create -n cuda -c conda-forge cuda-toolkit=12.6" in found.refused[0].instead
    assert plan(distribution(machine("ada"), "debian", "13"), "torch", driver="no").toolkit == "13.1"
    assert "12.4" in refused(plan(machine("ada"), toolkit="12.4"))["CUDA toolkit"]
    assert "no package repository" in refused(plan(distribution(machine("ada"), "nixos", "25.05")))["CUDA toolkit"]
    assert "newest release" in refused(plan(distribution(machine("pascal"), "arch", None)))["CUDA toolkit"]


def test_on_wsl_it_is_the_toolkit_alone() -> None:
    found = plan(change(machine("ada"), "host.wsl", 2), cudnn=True)
    assert f"{KEYRING}/wsl-ubuntu/x86_64" in commands(found)
    assert "sudo apt-get install cuda-toolkit-13-0 libcudnn9-dev-cuda-13" in commands(found)
    assert not any(s.id == "driver" for s in found.steps)
    assert "Never install" in " ".join(found.notes)


def test_a_container_gets_an_image_and_a_jetson_its_jetpack() -> None:
    inside = step(plan(change(machine("ada"), "host.container", "docker"), toolkit="12.4"), "toolkit")
    assert (inside.commands, "nvidia/cuda:12.4.x-devel" in inside.title) == ((), True)
    jetson = plan(change(machine("ada"), "host.platform", "jetson"), cudnn=True)
    assert "sudo apt-get install nvidia-jetpack" in commands(jetson)


@pytest.mark.parametrize("names", [(), ("torch",)])
def test_conda_brings_it_into_the_environment(names: tuple[str, ...]) -> None:
    found = plan(machine("ada", branch=570), *names, toolkit="12.4", cudnn=True, manager="conda")
    own = step(found, "toolkit")
    assert (own.group, own.root) == ("environment", False)
    assert commands(found).endswith("conda-forge cuda-toolkit=12.4 cudnn")


def test_the_host_compiler_is_one_that_nvcc_accepts() -> None:
    newer = change(
        change(machine("ada", branch=570), "toolkits.cxx", "/usr/bin/cc"), "toolkits.cxx_version", "gcc 15.1.0"
    )
    text = commands(plan(newer))
    gcc = newest_gcc("12.8")
    assert f"g++-{gcc}" in text
    assert f"export NVCC_CCBIN=/usr/bin/g++-{gcc}" in text
    none = change(machine("ada", branch=570), "toolkits.cxx", None)
    assert commands(plan(none)).startswith("sudo apt-get install build-essential")


def test_it_is_verified_by_compiling() -> None:
    version, compiled = typed(step(plan(machine("ada")), "toolkit").verify)
    assert version == "/usr/local/cuda-13.0/bin/nvcc --version"
    assert "k<<<1, 1>>>()" in compiled
    assert compiled.endswith("nvcc -x cu -c -o /dev/null -")


def test_cudnn_comes_alone_too() -> None:
    found = plan(machine("ada"), toolkit=None, cudnn=True)
    assert commands(found).endswith("sudo apt-get install libcudnn9-dev-cuda-13")
    assert found.requested == ("cudnn",)


def test_where_it_is_not_nvidias_for_linux() -> None:
    amd = refused(plan(change(machine("ada"), "host.system", "Windows")))
    assert "Linux and WSL" in amd["CUDA toolkit"]


def test_a_plan_without_a_gpu_says_so() -> None:
    found = plan(change(plain_host(), "pythons", (python(),)))
    assert "no NVIDIA GPU here" in " ".join(found.notes)


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("shell", "sudo apt-get --yes install cuda-toolkit-12-6"),
        ("cloud-init", '["apt-get", "--yes", "install", "cuda-toolkit-12-6"]'),
        ("ansible", '"/usr/local/cuda-12.6/bin/nvcc"'),
        ("dockerfile", "# The CUDA toolkit comes with the image: FROM nvidia/cuda:12.6.0-devel-ubuntu24.04"),
        ("environment.yml", '- "cuda-toolkit=12.6"'),
    ],
)
def test_each_form_has_it(form: str, line: str) -> None:
    by = "conda" if form == "environment.yml" else "uv"
    found = plan(machine("ada", branch=570), "torch", companions=("torchvision",), manager=by, base="python3")
    text = render(form, found)
    assert line in text
    assert "torchvision==0.29.*" in text


def test_the_table_of_repositories() -> None:
    found = repository("linuxmint", "22")
    assert found
    assert found.name == "ubuntu2404"
    assert repository("ubuntu", "18.04") is None
    releases = toolkits().toolkit.releases
    assert all(row.first in releases and row.last in ("", *releases) for row in toolkits().repository)


def _with_nvcc(number: str, branch: int = 580) -> Facts:
    path = f"/usr/local/cuda-{number}/bin/nvcc"
    return change(
        machine("ada", branch=branch), "toolkits.nvccs", (Nvcc(path=path, real=path, version=number, on_path=True),)
    )


@pytest.mark.parametrize("container", [None, "docker"])
def test_a_toolkit_that_is_there_is_named_and_held_against_the_driver(container: str | None) -> None:
    found = plan(change(_with_nvcc("12.8"), "host.container", container))
    assert (found.steps, found.refused) == ((), ())
    assert found.notes[0] == (
        "CUDA Toolkit 12.8 is already installed: nothing to do. /usr/local/cuda-12.8/bin/nvcc is the nvcc on PATH. The "
        "driver, which supports CUDA up to 13.0, runs what it compiles. For builds: export "
        "CUDA_HOME=/usr/local/cuda-12.8"
    )


def test_a_toolkit_of_a_newer_minor_compiles_no_ptx_for_the_driver() -> None:
    assert "up to 12.8: it runs what is compiled for the" in plan(_with_nvcc("12.9", branch=570)).notes[0]


@pytest.mark.parametrize(("number", "wanted"), [("12.8", "12.6"), ("13.1", "12.8"), ("11.8", "12.8")])
def test_another_release_than_the_requested_one_does_not_do(number: str, wanted: str) -> None:
    assert plan(_with_nvcc(number), toolkit=wanted).toolkit == wanted


def test_a_toolkit_without_code_for_the_gpu_or_of_a_newer_major_does_not_do() -> None:
    assert plan(_with_nvcc("11.6")).toolkit is not None
    assert plan(_with_nvcc("13.0", branch=570)).toolkit == "12.8"


def test_the_release_and_cudnn_have_reasons() -> None:
    newest = step(plan(machine("ada")), "toolkit")
    assert "is the newest release that NVIDIA's repository has for this distribution and that the driver" in newest.why
    cudnn = step(plan(machine("ada"), toolkit=None, cudnn=True), "toolkit")
    assert "nvcc" not in cudnn.why
    assert "Frameworks' wheels have their own cuDNN" in cudnn.why
    named = step(plan(machine("ada"), toolkit="12.6"), "toolkit")
    assert "CUDA 12.6 was requested." in named.why
