"""A host's file system seen from a container: what --root itself leaves out keeps no healthy machine incomplete."""

from pathlib import Path

import msgspec
import pytest

from gpudoctor import check, pipeline
from gpudoctor.expect.discovery import expectations
from gpudoctor.facts import Facts, Host
from gpudoctor.facts.text_types import ANOTHER_ROOT
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import CheckOptions
from gpudoctor.probes import docker
from gpudoctor.report.model import Report
from gpudoctor.report.renderers import npd, prometheus
from gpudoctor.report.renderers.closing import ELSEWHERE, ROOT
from gpudoctor.report.renderers.header import rows
from tests.builders import change
from tests.machines.registry import machines

WHY = Unknown("libraries are not asked under another root")
PARTS = {
    "nvidia.nvml": ("loaded", "code", "text", "driver_version", "cuda_version", "count"),
    "nvidia.cuda": ("loaded", "code", "name", "text", "version", "devices", "unmasked_code"),
}


def mounted(why: Unknown = WHY) -> Facts:
    """A node that is well, of which only files are read."""
    facts = next(m for m in machines() if m.name == "hgx-h100").make()
    for part, names in PARTS.items():
        for name in names:
            facts = change(facts, f"{part}.{name}", why)
    return change(facts, "gpus", why)


def test_a_host_that_is_well_is_complete_and_the_report_says_what_nobody_asked() -> None:
    report = check(facts=mounted())
    assert (report.status, report.ok) == ("pass", True)
    assert ROOT in report.next
    assert not report.driver_asked
    assert any(entry.reason.endswith(ANOTHER_ROOT) for entry in report.unknown)
    assert not any(entry.essential for entry in report.unknown)


def test_a_condition_of_kubernetes_says_that_the_driver_was_not_asked() -> None:
    report = check(facts=mounted())
    line = npd.render(report)
    assert line.endswith(" checks passed; files only, driver not asked (--root)\n")
    assert len(line) <= npd.LONGEST + 1
    assert "gpudoctor_driver_asked 0.0\n" in prometheus.render(report)
    asked = check(facts=next(m for m in machines() if m.name == "hgx-h100").make())
    assert "--root" not in npd.render(asked)
    assert "gpudoctor_driver_asked 1.0\n" in prometheus.render(asked)


def test_a_report_from_before_the_field_is_read() -> None:
    document = msgspec.to_builtins(Report())
    del document["driver_asked"]
    assert msgspec.convert(document, Report).driver_asked


def test_another_reason_leaves_it_incomplete() -> None:
    report = check(facts=mounted(Unknown("NVML: Insufficient Permissions")))
    assert report.status == "incomplete"
    assert ROOT not in report.next


def test_what_somebody_expects_has_to_be_found_out(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text('[expect."gpus"]\ncount = 8\n')
    options = CheckOptions(expect=expectations([str(file)], automatic=False))
    assert check(options=options, facts=mounted()).status == "incomplete"


@pytest.mark.parametrize("part", PARTS)
def test_the_probes_give_that_reason(part: str, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    nvidia = pipeline.gather(Machine(root=str(tmp_path)), CheckOptions(quick=True)).nvidia
    code = nvidia.nvml.code if part == "nvidia.nvml" else nvidia.cuda.code
    assert isinstance(code, Unknown)
    assert code.unknown.endswith(ANOTHER_ROOT)


def test_a_gpu_whose_driver_nobody_asked_is_no_gpu_without_a_driver() -> None:
    report = check(facts=mounted())
    assert {gpu.status for gpu in report.gpus} == {"unknown"}
    assert dict(rows(report))["GPUs"].endswith("compute capability 9.0, driver not asked")
    unloaded = change(mounted(), "nvidia.kernel.loaded", None)
    assert {gpu.status for gpu in check(facts=unloaded).gpus} == {"no driver"}


def test_a_node_whose_containerd_is_not_configured_fails_without_its_driver() -> None:
    facts = change(mounted(), "containers.toolkit", "installed")
    facts = change(change(facts, "containers.cdi", ()), "cluster.kubelet", True)
    assert check(facts=change(facts, "cluster.runtime_configured", True)).status == "pass"
    report = check(facts=change(facts, "cluster.runtime_configured", False))
    (found,) = report.findings
    assert (found.check, found.status, found.run) == ("cluster.runtime-not-configured", "fail", "")
    assert ELSEWHERE in report.next
    unknown = change(change(facts, "cluster.runtime_configured", False), "nvidia.kernel.loaded", WHY)
    assert "cluster.runtime-not-configured" in {entry.check for entry in check(facts=unknown).unknown}


def docker_host(root: Path, daemon: str, unit: str = "", socket: bool = True) -> Facts:
    """The node with Docker and NVIDIA's toolkit, as its files show it."""
    files = {"/usr/bin/docker": "", "/usr/bin/nvidia-ctk": "", "/etc/docker/daemon.json": daemon}
    files["/etc/nvidia-container-runtime/config.toml"] = "no-cgroups = true\n"
    files["/etc/systemd/system/docker.service.d/override.conf"] = unit
    files |= {"/run/docker.sock": ""} if socket else {}
    for path, text in files.items():
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (root / path[1:]).write_text(text)
        (root / path[1:]).chmod(0o755)
    machine = Machine(root=str(root), env={"PATH": "/usr/bin"})
    found = docker.probe(machine, Host(container=None, wsl=None), wanted=True)
    return msgspec.structs.replace(mounted(), containers=found)


NVIDIA = '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}'
OPTION = "ExecStart=/usr/bin/dockerd --add-runtime=nvidia=/usr/bin/nvidia-container-runtime -H fd://"


@pytest.mark.parametrize(
    ("daemon", "unit", "found"),
    [
        ("{}", "", {"container.runtime-not-configured", "container.no-cgroups"}),
        (NVIDIA, "", {"container.no-cgroups"}),
        ("{}", OPTION, {"container.no-cgroups"}),
    ],
)
def test_files_show_how_docker_is_configured(daemon: str, unit: str, found: set[str], tmp_path: Path) -> None:
    report = check(facts=docker_host(tmp_path, daemon, unit))
    assert {entry.check for entry in report.findings if entry.check.startswith("container.")} == found


def test_without_a_daemon_of_the_system_nothing_is_known_of_it(tmp_path: Path) -> None:
    report = check(facts=docker_host(tmp_path, "{}", socket=False))
    assert not report.findings
    unknown = {entry.check for entry in report.unknown}
    assert {"container.runtime-not-configured", "container.no-cgroups"} <= unknown
