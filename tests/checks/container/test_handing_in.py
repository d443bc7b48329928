"""Checks of containers to which only a part of the GPU was handed in."""

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge, run
from gpudoctor.checks.container.control_node_missing import control_node_missing
from gpudoctor.checks.container.driver_version_inside import driver_version_inside
from gpudoctor.checks.container.libraries_not_passed import libraries_not_passed
from gpudoctor.checks.container.no_compute_capability import no_compute_capability
from gpudoctor.checks.container.requirement_unmet import requirement_unmet
from gpudoctor.checks.driver.device_nodes_closed import device_nodes_closed
from gpudoctor.checks.driver.uvm_missing import uvm_missing
from gpudoctor.facts import DeviceNode, DriverLibrary, Facts
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import ask, change, framework, library, live, nvidia_host, with_framework

WHY = Unknown("not to be seen")
SKIPPED, PASS, UNKNOWN = [("skipped", "")], [("pass", "")], [("unknown", "not to be seen")]
STUB = library("libcuda.so.1", None, kind="stub", path="/usr/local/cuda/lib64/stubs/libcuda.so.1")

COMPAT = library("libcuda.so.1", kind="compat", found_by="not on the loader's path")
OFF = library("libcuda.so.1", path="/.singularity.d/libs/libcuda.so.1", found_by="not on the loader's path")


def inside(facts: Facts, engine: str | None = "apptainer", **env: str) -> Facts:
    """The machine seen from a container."""
    return change(change(facts, "host.container", engine), "host.environment", env)


def without_libraries(facts: Facts, *left: DriverLibrary) -> Facts:
    """The same without the driver's libraries, with these at most."""
    for part in ("cuda", "nvml"):
        for name, value in {"libraries": left if part == "cuda" else (), "code": None, "loaded": None}.items():
            facts = change(facts, f"nvidia.{part}.{name}", value)
    return change(facts, "gpus", Unknown("there is no libnvidia-ml.so.1 to ask"))


def roots(facts: Facts) -> dict[str, str]:
    """What a reader of the report sees first: id and status of the findings that nothing explains."""
    report = build(facts, list(judge(facts, catalogue.load())))
    return {finding.check: finding.status for finding in report.findings}


TORCH = with_framework(framework(live=live(0, error="Found no NVIDIA driver on your system.")))
BARE = without_libraries(TORCH)


def sentence(engine: str) -> list[tuple[str, str]]:
    return [
        (
            "problem",
            f"/dev/nvidia0 is in this container ({engine}), but neither libcuda.so.1 nor libnvidia-ml.so.1 is: the "
            "host's driver libraries were not passed in.",
        )
    ]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (BARE, SKIPPED),
        (inside(TORCH), PASS),
        (inside(without_libraries(nvidia_host())), PASS),  # computes on processors, and shares the host's /dev
        (inside(without_libraries(nvidia_host()), NVIDIA_VISIBLE_DEVICES="void"), PASS),
        (inside(change(BARE, "nvidia.kernel.nodes", ())), PASS),  # container.no-gpus-passed
        (inside(without_libraries(TORCH, library("libcuda.so.1"))), PASS),
        (inside(change(BARE, "nvidia.kernel.nodes", WHY)), UNKNOWN),
        (inside(change(BARE, "nvidia.cuda.libraries", WHY)), UNKNOWN),
        (inside(change(BARE, "nvidia.nvml.libraries", WHY)), UNKNOWN),
        (inside(BARE), sentence("apptainer")),
        (inside(without_libraries(TORCH, STUB)), sentence("apptainer")),
        (inside(without_libraries(TORCH, COMPAT)), sentence("apptainer")),
        (
            change(
                inside(change(BARE, "nvidia.kernel.nodes", (DeviceNode(path="/dev/dxg", error=None),)), "docker"),
                "host.wsl",
                2,
            ),
            [("problem", sentence("docker")[0][1].replace("/dev/nvidia0", "/dev/dxg"))],
        ),
        (
            inside(without_libraries(TORCH, OFF)),
            [
                (
                    "problem",
                    "/.singularity.d/libs/libcuda.so.1 is in this container (apptainer), but not on the loader's path.",
                )
            ],
        ),
        (inside(without_libraries(nvidia_host()), "distrobox", NVIDIA_VISIBLE_DEVICES="all"), sentence("distrobox")),
    ],
)
def test_libraries_not_passed(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(libraries_not_passed, facts) == verdict


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("apptainer", "apptainer exec --nv"),
        ("docker", "docker run --gpus all"),
        ("podman", "podman run --device nvidia.com/gpu=all"),
        ("distrobox", "distrobox create --nvidia"),
        ("toolbox", "toolbox enter"),
        ("enroot", "NVIDIA_VISIBLE_DEVICES=all"),
        ("flatpak", "flatpak update"),
        ("systemd-nspawn", "--bind=/dev/nvidiactl"),
    ],
)
def test_each_engine_is_told_in_its_own_words(engine: str, words: str) -> None:
    commands = [c for v in run(libraries_not_passed, inside(BARE, engine)) for f in v.fixes for c in f.commands]
    assert any(words in command for command in commands)


def test_what_a_module_took_from_the_path_is_put_back() -> None:
    (fix,) = run(libraries_not_passed, inside(without_libraries(TORCH, OFF)))[0].fixes
    assert fix.commands == ("export LD_LIBRARY_PATH=/.singularity.d/libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",)


def test_a_pod_of_gke_names_the_directory_of_the_driver() -> None:
    mounted = library("libcuda.so.1", path="/usr/local/nvidia/lib64/libcuda.so.1", found_by=OFF.found_by)
    pod = change(inside(without_libraries(TORCH, mounted), "containerd"), "host.kubernetes", True)
    (found,) = run(libraries_not_passed, pod)
    now, lasting = found.fixes
    assert now.commands[0].startswith("export LD_LIBRARY_PATH=/usr/local/nvidia/lib64")
    assert "value: /usr/local/nvidia/lib64" in lasting.commands[0]
    assert lasting.place == "outside"
    assert found.problem is not None
    assert "GKE" in (found.problem.cause or "")


def test_missing_libraries_are_one_finding() -> None:
    assert roots(inside(BARE)) == {"container.libraries-not-passed": "fail"}


def without_control(facts: Facts, code: object = 9) -> Facts:
    """The same without /dev/nvidiactl; NVML then says that there is no driver."""
    nodes = tuple(n for n in facts.nvidia.kernel.nodes if n.path != "/dev/nvidiactl")  # type: ignore[union-attr]
    return change(change(facts, "nvidia.kernel.nodes", nodes), "nvidia.nvml.code", code)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (without_control(nvidia_host()), SKIPPED),
        (inside(nvidia_host(), "docker"), PASS),
        (inside(without_control(nvidia_host(), 0), "docker"), PASS),
        (inside(without_control(nvidia_host(), None), "docker"), PASS),
        (inside(change(nvidia_host(), "nvidia.kernel.nodes", ()), "docker"), PASS),
        (inside(without_control(nvidia_host(), WHY), "docker"), UNKNOWN),
        (inside(change(nvidia_host(), "nvidia.kernel.nodes", WHY), "docker"), UNKNOWN),
        (
            inside(without_control(nvidia_host()), "docker"),
            [
                (
                    "problem",
                    "/dev/nvidiactl is missing in this container, which has /dev/nvidia0, /dev/nvidia-uvm, "
                    "/dev/nvidia-uvm-tools.",
                )
            ],
        ),
    ],
)
def test_control_node_missing(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(control_node_missing, facts) == verdict


def test_the_missing_control_node_explains_the_drivers_answers() -> None:
    facts = change(change(without_control(nvidia_host()), "gpus", ()), "nvidia.cuda.code", 100)
    assert roots(inside(facts, "docker")) == {"container.control-node-missing": "fail"}


OTHER: dict[str, object] = {"nvidia.kernel.loaded": "570.172.08", "nvidia.nvml.code": 18, "nvidia.cuda.code": 803}


def mismatch(engine: str) -> Facts:
    """A container whose libraries, all of one version, are not of the host's module."""
    facts = inside(nvidia_host(), engine)
    for path, value in OTHER.items():
        facts = change(facts, path, value)
    return facts


@pytest.mark.parametrize(
    ("engine", "first"),
    [
        ("flatpak", "flatpak update"),
        ("distrobox", "distrobox create --nvidia --name NAME --image IMAGE"),
        ("toolbox", "toolbox --version"),
    ],
)
def test_copies_of_a_box_are_made_anew(engine: str, first: str) -> None:
    (verdict,) = run(driver_version_inside, mismatch(engine))
    assert verdict.fixes[0].commands[0] == first
    assert roots(mismatch(engine)) == {"container.driver-version-inside": "fail"}


def test_what_a_runtime_injected_is_the_hosts_affair() -> None:
    assert ask(driver_version_inside, mismatch("docker")) == PASS


@pytest.mark.parametrize(("engine", "words"), [("lxc", "pct set"), ("docker", "nvidia-modprobe")])
def test_the_node_of_unified_memory_is_handed_in_as_the_engine_wants(engine: str, words: str) -> None:
    nodes = tuple(n for n in nvidia_host().nvidia.kernel.nodes if "uvm" not in n.path)  # type: ignore[union-attr]
    facts = change(change(inside(nvidia_host(), engine), "nvidia.kernel.nodes", nodes), "nvidia.cuda.code", 999)
    commands = [c for v in run(uvm_missing, facts) for f in v.fixes for c in f.commands]
    assert any(words in command for command in commands)


REQUIRED = "cuda>=13.0 brand=unknown,driver>=535,driver<536 brand=grid,driver>=535,driver<536"


def image(required: str | None = REQUIRED, has: object = "12.8", available: bool | None = False) -> Facts:
    """A container of NVIDIA's image that was started in spite of its requirement."""
    facts = nvidia_host() if available is None else with_framework(framework(live=live(int(available))))
    env = {} if required is None else {"NVIDIA_REQUIRE_CUDA": required}
    return inside(change(facts, "nvidia.cuda.version", has), "docker", **env)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (image(None), PASS),
        (image(has="13.1"), PASS),
        (image("cuda>=12.9 brand=tesla,driver>=535"), PASS),  # the same major runs it
        (image(available=True), PASS),  # its CUDA is not in use
        (change(image(), "pythons.0.frameworks.0.live", None), PASS),  # one for CUDA 12 that was not asked
        (image("brand=tesla,driver>=535 cuda>=13.0"), PASS),
        (image(has=None), PASS),
        (image(has=WHY), UNKNOWN),
        (change(image(), "host.container", None), SKIPPED),
        (
            image(available=None),
            [
                (
                    "problem",
                    "The image is made for CUDA 13.0, but the driver of this container's host supports CUDA 12.8.",
                )
            ],
        ),
        (
            image("cuda>=13.0"),
            [
                (
                    "problem",
                    "The image is made for CUDA 13.0, but the driver of this container's host supports CUDA 12.8.",
                )
            ],
        ),
    ],
)
def test_requirement_unmet(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(requirement_unmet, facts) == verdict


def test_the_requirements_fixes_name_both_majors() -> None:
    message = " ".join(fix.message for fix in run(requirement_unmet, image())[0].fixes)
    assert "an image of CUDA 12" in message
    assert "a branch that supports CUDA 13" in message


@pytest.mark.parametrize(
    ("engine", "command"),
    [
        ("enroot", "export NVIDIA_DRIVER_CAPABILITIES=compute,utility"),
        ("docker", "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ..."),
    ],
)
def test_capabilities_are_asked_for_where_the_engine_reads_them(engine: str, command: str) -> None:
    facts = change(change(inside(nvidia_host(), engine), "nvidia.cuda.libraries", ()), "nvidia.cuda.code", None)
    assert command in run(no_compute_capability, facts)[0].fixes[0].commands


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"REMOTE_CONTAINERS": "true"}, '"runArgs": ["--gpus", "all"]'),
        ({"ECS_CONTAINER_METADATA_URI_V4": "http://169.254.170.2/v4/0"}, '"type": "GPU"'),
        ({}, "docker run --gpus all"),
    ],
)
def test_who_starts_the_container_is_told_first(env: dict[str, str], words: str) -> None:
    assert words in run(libraries_not_passed, inside(BARE, "docker", **env))[0].fixes[0].commands[0]


@pytest.mark.parametrize(("engine", "keeps"), [("podman", True), ("docker", False)])
def test_podman_without_root_keeps_the_users_groups(engine: str, keeps: bool) -> None:
    nodes = tuple(
        msgspec.structs.replace(n, error="EACCES", mode="660")
        for n in nvidia_host().nvidia.kernel.nodes  # type: ignore[union-attr]
    )
    facts = inside(change(nvidia_host(), "nvidia.kernel.nodes", nodes), engine)
    commands = [c for v in run(device_nodes_closed, facts) for f in v.fixes for c in f.commands]
    assert any("keep-groups" in command for command in commands) is keeps


def test_the_builders_are_what_they_say() -> None:
    assert msgspec.structs.asdict(BARE.nvidia.cuda)["libraries"] == ()
