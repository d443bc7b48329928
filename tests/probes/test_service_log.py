"""The journal of services: what is kept of it, and what never is."""
# ruff: noqa: E501

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import ServiceLine
from gpudoctor.knowledge.services import services
from gpudoctor.knowledge.symptoms import symptoms
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import CheckOptions, gather
from gpudoctor.probes.service_log import MOST, SHOWN, messages, probe
from gpudoctor.queries.services import logging_services
from gpudoctor.recorded_machine import RecordedMachine
from tests.checks.nvidia_machines import having
from tests.symptoms.test_noise import LOGS

JOURNALCTL = {"/usr/bin/journalctl": ""}
CPU = 'level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu compute="" name=cpu'
CUDA = 'level=INFO source=types.go:60 msg="inference compute" id=GPU-1 library=CUDA compute=8.9'
CDI = "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all"
PROFILES = (
    'error="StartContainer failed: error running createContainer hook #6: failed to create application profiles '
    'directory: mkdirat etc/nvidia/nvidia-application-profiles-rc.d: read-only file system"'
)
HOOK = 'level=error msg="Handler for POST /v1.51/containers/a/start returned error: error running prestart hook #0: exit status 1, stderr: Using requested mode cdi; invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker --gpus flag) is not supported."'
SANDBOX = 'E1102 "Error syncing pod, skipping" err="rpc error: desc = no runtime for \\"nvidia\\" is configured"'
OLD = "Started Ollama Service."
EARLY = "failed to generate CDI spec: failed to construct device spec generators: failed to initialize NVML: Driver Not Loaded"
NEW = "Started ollama.service - Ollama Service."
HEALTHY = """
[    5.1] box dockerd[901]: time="2026" level=info msg="CDI directory does not exist, skipping: failed to monitor for changes"
[    5.2] box dockerd[901]: time="2026" level=warning msg="WARNING: bridge-nf-call-iptables is disabled"
[    5.3] box containerd[900]: time="2026" level=info msg="skip loading plugin \\"io.containerd.snapshotter.v1.btrfs\\"..."
[    5.4] box containerd[900]: time="2026" level=error msg="failed to load cni during init, please check CRI plugin status before setting up network for pods" error="cni config load failed"
[    5.5] box kubelet[1411]: E0601 kubelet.go:2900] "Container runtime network not ready"
[    5.6] box nvidia-persistenced[700]: Started (700)
[    5.7] box nv-fabricmanager[1411]: request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]
[    5.8] box python3[1500]: ModuleNotFoundError: No module named 'flask'
[    5.9] box python[1501]: OSError: [Errno 98] Address already in use
[    6.0] box python[1502]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.08 GiB.
[    6.1] box kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.
[    6.2] box sshd[1503]: Failed to initialize NVML: Driver/library version mismatch
[    6.3] box jupyter-lab[1504]: an unknown error with a GPU: nobody knows this line
"""


def journal(*lines: tuple[float, str, str]) -> list[str]:
    return [f"[{seconds:12.6f}] box {who}: {text}" for seconds, who, text in lines]


def ids(*lines: tuple[float, str, str]) -> list[tuple[str, str, float | None, int]]:
    return [(one.service, one.symptom, one.seconds, one.times) for one in messages(journal(*lines))]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([(10.0, "ollama[7]", CPU)], [("ollama.service", "ollama", 10.0, 1)]),
        # the newest is what counts, and how often it was written
        ([(10.0, "kubelet[7]", SANDBOX), (99.5, "kubelet[7]", SANDBOX)], [("kubelet.service", "k8s-no-runtime", 99.5, 2)]),
        ([(10.0, "podman[9102]", CDI)], [("podman", "cdi", 10.0, 1)]),
        ([(10.0, "dockerd[7]", HOOK)], [("docker.service", "ctk-mode-cdi", 10.0, 1)]),
        ([(10.0, "containerd[7]", PROFILES)], [("containerd.service", "ctk-application-profiles", 10.0, 1)]),
        ([(10.0, "dockerd[7]", 'error="exec /entry.sh: exec format error"')], []),  # of any container
        # what was written before the last start is over, however systemd calls the unit
        ([(10.0, "ollama[7]", CPU), (20.0, "systemd[1]", OLD)], []),
        ([(10.0, "ollama[7]", CPU), (20.0, "systemd[1]", NEW)], []),
        ([(10.0, "ollama[7]", CPU), (20.0, "systemd[1]", "Stopped ollama.service - Ollama Service.")], []),
        ([(9.0, "systemd[1]", NEW), (10.0, "ollama[7]", CPU)], [("ollama.service", "ollama", 10.0, 1)]),
        # a unit that ran too early at boot, and again
        ([(3.0, "nvidia-ctk[7]", EARLY)], [("nvidia-cdi-refresh.service", "smi-no-driver", 3.0, 1)]),
        ([(3.0, "nvidia-ctk[7]", EARLY), (9.0, "systemd[1]", "Finished Refresh NVIDIA CDI specification file.")], []),
        # another unit's start, and one that failed, end nothing
        ([(10.0, "ollama[7]", CPU), (20.0, "systemd[1]", "Started docker.service - Docker.")], [("ollama.service", "ollama", 10.0, 1)]),
        ([(10.0, "ollama[7]", CPU), (20.0, "systemd[1]", "Failed to start Ollama Service.")], [("ollama.service", "ollama", 10.0, 1)]),
        # a line that shows the GPU
        ([(10.0, "ollama[7]", CPU), (20.0, "ollama[7]", CUDA)], []),
        # a later process of a program that is no service
        ([(10.0, "podman[7]", CDI), (20.0, "podman[8]", "container start 3f0c")], []),
        ([(10.0, "podman[7]", CDI), (20.0, "podman[7]", "container died")], [("podman", "cdi", 10.0, 1)]),
    ],
)  # fmt: skip
def test_what_is_kept(lines: list[tuple[float, str, str]], found: list[tuple[str, str, float, int]]) -> None:
    assert ids(*lines) == found


@pytest.mark.parametrize(
    "line",
    [
        f"Jan 22 11:02:31 halo ollama[2101]: {CPU}",
        f"Jan  2 11:02:31 halo ollama[2101]: {CPU}",
        f"2026-01-22T11:02:31+0100 halo ollama[2101]: {CPU}",
        f"ollama[2101]: {CPU}",
        f"ollama: {CPU}",
    ],
)
def test_other_forms_of_the_journal(line: str) -> None:
    assert [(one.service, one.seconds) for one in messages([line])] == [("ollama.service", None)]


HINT = "Hint: You are currently not seeing messages from other users and the system.\n"
POWERD = "ERROR! Client (presumably SBIOS) has requested to disable Dynamic Boost DC controller"


@pytest.mark.parametrize("name", ["nvidia-powerd", "/usr/bin/nvidia-powerd"])
def test_evidence_of_a_service_is_no_finding(name: str) -> None:
    found = messages(["[ 1.0] box systemd[1]: Started nvidia-powerd service.", f"[ 2.0] box {name}[7]: {POWERD}"])
    assert [(one.service, one.symptom) for one in found] == [("nvidia-powerd.service", "powerd-refused")]
    assert list(logging_services(having(services__lines=found))) == []


def test_a_specification_that_was_generated_later() -> None:
    failed = 'nvidia-ctk[7]: time="2026" level=error msg="failed to generate CDI spec: invalid device"'
    later = 'nvidia-ctk[9]: time="2026" level=info msg="Generated CDI spec with version 0.8.0"'
    found = messages([failed])
    assert [(one.service, one.symptom) for one in found] == [("nvidia-cdi-refresh.service", "cdi-not-generated")]
    assert list(logging_services(having(services__lines=found))) == []
    assert messages([failed, later]) == ()


def test_nothing_of_what_works_or_is_about_something_else() -> None:
    assert messages(HEALTHY.splitlines()) == ()


@pytest.mark.parametrize("name", LOGS)
def test_nothing_of_a_log_of_what_works(name: str) -> None:
    for who in ("ollama[7]", "python3[7]", "dockerd[7]"):
        assert ids(*((float(n), who, text) for n, text in enumerate(LOGS[name].splitlines()))) == []


def test_a_line_is_harmless_and_short() -> None:
    text = f"\x1b[31m\x1b]0;title\x07{'x ' * 500}{CDI}\x1b[2J\x9b\u202e{'y ' * 5000}"
    (found,) = messages([f"[ 1.0] box podman[7]: {text}"])
    assert "unresolvable CDI devices" in found.text
    assert len(found.text) <= SHOWN
    assert found.text.isprintable()


def test_a_continued_line_names_no_service() -> None:
    assert messages([f"[ 1.0] box sshd[7]: one\n    ollama[7]: {CPU}"]) == ()
    assert messages(["[ 1.0] box sshd[7]: one", f"             ollama[7]: {CPU}"]) == ()


def test_a_hundred_thousand_lines() -> None:
    lines = journal(*((float(n), "kubelet[7]", f"E1102 pod {n}: {SANDBOX}") for n in range(3000)))
    texts = [text for row in symptoms() for text in row.has]
    lines += journal(*((float(n), "dockerd[8]", texts[n % len(texts)]) for n in range(2000)))
    lines += [f"[ 1.0] box app[{n}]: {'word ' * 20}" for n in range(95000)]
    found = messages(lines)
    assert found[0] == ServiceLine(service="kubelet.service", symptom="k8s-no-runtime", text=found[0].text, seconds=2999.0, times=3000)  # fmt: skip
    assert len([one for one in found if one.service == "docker.service"]) == MOST


FIRST = "[ 1.0] box systemd[1]: Started ollama.service - Ollama Service.\n"


def test_one_child_asks_for_the_newest_lines_of_this_boot() -> None:
    machine = RecordedMachine(
        JOURNALCTL, commands={"journalctl": f"{FIRST}[ 1.5] box ollama[7]: {CPU}\n"}, env={"PATH": "/usr/bin"}
    )
    (one,) = probe(machine, wanted=True).lines  # type: ignore[misc]
    assert (one.service, one.seconds) == ("ollama.service", 1.5)
    (ran,) = machine.ran
    assert ran.startswith("journalctl -b -p info -n 4000 --no-pager -o short-monotonic -t systemd -t ollama ")


@pytest.mark.parametrize(
    "result",
    [
        ChildResult(argv=(), code=1, err="No journal files were opened due to insufficient permissions.\n"),
        ChildResult(argv=(), code=0, out="-- No entries --\n"),  # of somebody who may not read it
        # one's own journal
        ChildResult(argv=(), code=0, out="[ 9.1] box systemd[1893]: Started app.service.\n", err=HINT),
        ChildResult(argv=(), code=None, timed_out=True),
        None,
    ],
)
def test_a_closed_journal_is_unknown(result: ChildResult | None) -> None:
    machine = RecordedMachine(JOURNALCTL, commands={"journalctl": result} if result else {}, env={"PATH": "/usr/bin"})
    assert isinstance(probe(machine, wanted=True).lines, Unknown)


def test_root_may_read_every_journal() -> None:
    commands = {"journalctl": f"[ 1.5] box ollama[7]: {CPU}\n"}
    machine = RecordedMachine(JOURNALCTL, commands=commands, env={"PATH": "/usr/bin"}, ids=(0, 0, (0,)))
    (one,) = probe(machine, wanted=True).lines  # type: ignore[misc]
    assert one.service == "ollama.service"


def test_without_a_gpu_or_a_journal_nothing_is_asked() -> None:
    machine = RecordedMachine(JOURNALCTL, commands={"journalctl": ""}, env={"PATH": "/usr/bin"})
    assert probe(machine, wanted=False).lines == ()
    assert isinstance(probe(RecordedMachine(), wanted=True).lines, Unknown)
    assert machine.ran == []


def test_a_quick_check_does_not_read_it() -> None:
    machine = RecordedMachine(JOURNALCTL, commands={"journalctl": ""}, env={"PATH": "/usr/bin"})
    facts = gather(machine, CheckOptions(quick=True))
    assert facts.services.lines == Unknown("the journal of services was not read")
    assert not [line for line in machine.ran if "-t ollama" in line]


def test_the_table_names_rows_and_each_program_once() -> None:
    rows = {row.id for row in symptoms()}
    assert {id_ for one in services() for id_ in one.also} - rows == set()
    names = [name for one in services() for name in one.identifiers]
    assert len(names) == len(set(names))
    assert all(one.started for one in services() if one.unit)
