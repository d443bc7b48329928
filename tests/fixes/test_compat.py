"""A libcuda that comes first steps aside, and nothing else is touched."""

import pytest

from gpudoctor.check_engine import Fix, run
from gpudoctor.checks.driver.compat_mismatch import compat_mismatch
from gpudoctor.checks.driver.compat_unsupported import compat_unsupported
from gpudoctor.checks.driver.stub_library import stub_library
from gpudoctor.facts import Facts
from gpudoctor.fixes.compat import out_of_the_way
from gpudoctor.maybe import Unknown
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.report.fixes import can_carry, entry
from gpudoctor.tasks import is_lookup
from tests.builders import change, library, nvidia_host

COMPAT = library(
    "libcuda.so.1", "580.65.06", path="/usr/local/cuda/compat/libcuda.so.1", found_by="cache", kind="compat"
)


def ahead(**env: str) -> Facts:
    facts = change(nvidia_host(), "nvidia.cuda.libraries", (COMPAT, library("libcuda.so.1")))
    facts = change(facts, "nvidia.cuda.loaded", COMPAT.real)
    return change(facts, "host.environment", env)


def away(facts: Facts) -> Fix:
    return out_of_the_way(facts, COMPAT.path, "the package cuda-compat")


def test_only_the_folders_own_line_goes_and_copies_stay() -> None:
    fix = away(ahead())
    assert "sed -i.bak" in fix.commands[0]
    assert fix.undo
    for check in (compat_mismatch, compat_unsupported):
        commands = [command for fix in check.fixes_for(ahead()) for command in fix.commands]
        assert not [command for command in commands if "rm " in command]


def test_in_a_container_nobody_needs_sudo() -> None:
    inside = change(change(ahead(), "host.container", "docker"), "host.user.uid", 0)
    fix = away(inside)
    assert "sudo" not in " ".join(entry(fix, inside).commands)
    assert fix.needs == "restart of the container"


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("/usr/local/cuda/compat", "unset LD_LIBRARY_PATH"),
        ("/opt/lib:/usr/local/cuda/compat/", "export LD_LIBRARY_PATH=/opt/lib"),
    ],
)
def test_what_the_environment_says_is_mended_there(path: str, command: str) -> None:
    assert away(ahead(LD_LIBRARY_PATH=path)).commands == (command,)


def stubbed(path: str, found_by: str = "cache") -> Facts:
    stub = library("libcuda.so.1", None, path=path, real=path, found_by=found_by, kind="stub")
    facts = change(nvidia_host(), "nvidia.cuda.libraries", (stub, library("libcuda.so.1")))
    for field, value in {"loaded": path, "code": 34, "version": "11.7"}.items():
        facts = change(facts, f"nvidia.cuda.{field}", value)
    return facts


def test_a_stub_in_the_loaders_configuration_is_removed_by_what_is_typed() -> None:
    facts = stubbed("/usr/local/cuda-11.7/lib64/stubs/libcuda.so.1")
    (verdict,) = run(stub_library, facts)
    first, last = verdict.fixes[0].commands
    assert "sed -i.bak" in first
    assert "/usr/local/cuda-11.7/lib64/stubs" in first
    assert last == "sudo ldconfig"
    assert can_carry(verdict.fixes[0].tasks, "here")
    assert "cuInit" in str(verdict.fixes[0].verify)


def test_a_stub_next_to_other_libraries_leaves_their_directory_in_the_configuration() -> None:
    (verdict,) = run(stub_library, stubbed("/usr/local/cuda-11.7/lib64/libcuda.so.1"))
    folder = "/usr/local/cuda-11.7/lib64"
    moved = f"sudo mv {folder}/libcuda.so.1 {folder}/disabled-libcuda.so.1"
    assert verdict.fixes[0].commands == (moved, "sudo ldconfig")


@pytest.mark.parametrize(
    ("folder", "container", "message"),
    [
        ("/usr/lib/x86_64-linux-gnu", None, "Rename {} (of the package cuda-compat), so"),
        ("/lib64", None, "Rename {} (of the package cuda-compat), so"),
        (
            "/usr/lib/x86_64-linux-gnu",
            "docker",
            "Remove the package cuda-compat from the image. In this container: rename",
        ),
        ("/usr/local/nvidia/lib64", None, "Rename {} (of the package cuda-compat), so"),  # the driver's own, with NVML
    ],
)
def test_a_directory_with_other_libraries_stays_in_the_configuration(
    folder: str, container: str | None, message: str
) -> None:
    real = f"{folder}/libcuda.so.580.65.06"
    path = f"{folder.removeprefix('/usr') if 'linux-gnu' in folder else folder}/libcuda.so.1"  # /lib is a link to it
    found = library("libcuda.so.1", "580.65.06", path=path, real=real, kind="compat")
    facts = change(change(ahead(), "nvidia.cuda.libraries", (found,)), "nvidia.cuda.loaded", real)
    facts = change(change(facts, "nvidia.cuda.code", 804), "host.container", container)
    if "nvidia" in folder:
        own = library("libnvidia-ml.so.1", path=f"{folder}/libnvidia-ml.so.1")
        facts = change(facts, "nvidia.nvml.libraries", (own,))
    (verdict,) = run(compat_unsupported, facts)
    assert "found through the loader's cache" in verdict.message
    fix = verdict.fixes[0]
    assert fix.message.startswith(message.format(real))
    assert fix.commands == (f"sudo mv {real} {folder}/disabled-libcuda.so.580.65.06", "sudo ldconfig")


def test_what_a_library_that_does_not_run_reports_is_not_the_drivers() -> None:
    assert driver_cuda(change(stubbed("/opt/stubs/libcuda.so.1"), "nvidia.kernel.loaded", "525.105.17")) == "12.0"
    assert isinstance(driver_cuda(change(stubbed("/opt/stubs/libcuda.so.1"), "nvidia.kernel.loaded", None)), Unknown)


def test_in_a_container_the_variable_is_of_the_image_too() -> None:
    inside = change(ahead(LD_LIBRARY_PATH="/usr/local/cuda/compat:/opt/lib"), "host.container", "docker")
    assert "(the image (ENV), the -e option, env_file or environment of Compose" in away(inside).message
    pod = change(inside, "host.kubernetes", True)
    assert "here and where it is set (the image (ENV) or env of the pod)" in away(pod).message


def test_a_library_of_unknown_path_is_looked_for() -> None:
    fix = out_of_the_way(ahead(LD_LIBRARY_PATH="/opt/lib"), "", "the package cuda-compat")
    assert all(map(is_lookup, fix.tasks))
    assert "libcuda" in fix.commands[0]
