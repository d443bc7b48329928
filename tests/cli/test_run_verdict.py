"""What `gpudoctor run` says of a program that succeeded: rules over figures, and the reason why it held no GPU."""

import json
from typing import Any

import pytest

from gpudoctor.cli.run_program.figures import Collector, GpuFigures, ProcessFigures, RunFigures
from gpudoctor.cli.run_program.no_gpu import reason, target
from gpudoctor.cli.run_program.run_report import render
from gpudoctor.cli.run_program.verdict import held_none, span, verdict
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import Done, examine
from gpudoctor.registry import BY_MODULE
from gpudoctor.sampling.lines import SampleLine, decode
from tests.builders import framework, nvidia_host, plain_host, python, with_framework
from tests.machines.containers import job_without_a_gpu

HALF_HOUR = 1860.0
TORCH = {"torch": "/env/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so"}
GIB = 1 << 30


def gpu(index: int = 0, busy: float = 0.13, **changes: Any) -> GpuFigures:
    """A GPU that the program held all the time."""
    times = {"seconds": HALF_HOUR, "busy_seconds": busy * HALF_HOUR}
    times |= {f"held_{name}": value for name, value in times.items()}
    known: dict[str, Any] = {"memory_peak": 22 * GIB, "held": True, "shared": False, "mig": False}
    return GpuFigures(vendor="nvidia", index=index, **(times | known | changes))


def free(index: int, **changes: Any) -> GpuFigures:
    """A GPU on which nothing ran."""
    return gpu(index, 0.0, **({"held": False, "held_seconds": 0.0, "memory_peak": None} | changes))


def process(cores: float, **changes: Any) -> ProcessFigures:
    """The main process, or another one, that lasted as long."""
    times = {"seconds": HALF_HOUR, "held_seconds": HALF_HOUR, "held_cpu_seconds": cores * HALF_HOUR}
    known = {"worker": False, "frameworks": TORCH, "nodes": True, "looks": 1000, "cpu_seconds": cores * HALF_HOUR}
    return ProcessFigures(pid=changes.pop("pid", 100), **(times | known | changes))  # type: ignore[arg-type]


def workers(number: int, cores: float, **changes: Any) -> list[ProcessFigures]:
    return [process(cores, pid=200 + each, worker=True, **changes) for each in range(number)]


def figures(gpus: list[GpuFigures], processes: list[ProcessFigures], **changes: Any) -> RunFigures:
    known: dict[str, Any] = {"wall_seconds": HALF_HOUR, "cpus": 32.0, "listed": True}
    return RunFigures(gpus=gpus, processes=processes, **(known | changes))


MAIN = process(0.3, holder=True)
LOADERS = {"name": "pt_data_worker"}


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (
            figures([gpu()], [MAIN, *workers(8, 0.97, **LOADERS)]),
            "GPU 0 busy 4 of 31 minutes; 8 workers at 97% CPU: the data loader is the limit",
        ),
        (
            figures([gpu()], [MAIN, *workers(1, 0.97)]),
            "GPU 0 busy 4 of 31 minutes; 1 worker at 97% CPU: it is the limit",
        ),
        (
            figures([gpu()], [MAIN, *workers(8, 0.21, **LOADERS)], cpus=2.0),
            "GPU 0 busy 4 of 31 minutes; 8 workers and the main process used all 2 CPU cores: the data loader is the "
            "limit",
        ),
        (
            figures([gpu()], [process(15.0, holder=True)], cpus=16.0),
            "GPU 0 busy 4 of 31 minutes; the program used all 16 CPU cores: the CPU is the limit",
        ),
        (
            figures([gpu()], [process(0.99, holder=True)]),
            "GPU 0 busy 4 of 31 minutes; the main process at 100% of one core: its Python code, or loading data "
            "without workers (num_workers=0), is the limit",
        ),
        (
            figures([gpu(0, 0.2), gpu(1, 0.4)], [MAIN, *workers(4, 0.9, **LOADERS)]),
            "2 GPUs busy 30% of the time; 4 workers at 90% CPU: the data loader is the limit",
        ),
        (figures([gpu(0, 0.03)], [MAIN]), "held 22 GiB, GPU 0 busy 3%"),
        (figures([gpu(0, 0.03, memory_peak=None)], [MAIN]), "GPU 0 busy 3%"),
        (figures([gpu(0, 0.03), gpu(1, 0.05)], [MAIN]), "held 44 GiB, 2 GPUs busy 4%"),
        (figures([gpu(0, 0.95), *map(free, range(1, 8))], [MAIN]), "1 of 8 GPUs used"),
        # TensorFlow holds all of them and computes on the first.
        (figures([gpu(0, 0.95), gpu(1, 0.0)], [MAIN]), "1 of 2 GPUs used"),
        (figures([free(0)], [process(1.0)]), "held no GPU"),
        # A PID namespace, but nobody opened a GPU.
        (figures([], [process(1.0, nodes=False)], listed=False), "held no GPU"),
    ],
)
def test_what_is_odd(seen: RunFigures, line: str) -> None:
    found = verdict(seen)
    assert found is not None
    assert found.line == line


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(figures([gpu(0, 0.97)], [MAIN]), id="all is well"),
        pytest.param(figures([gpu(0, 0.6)], [MAIN, *workers(8, 0.97)]), id="the GPU works more than it waits"),
        pytest.param(figures([gpu(0, 0.3)], [MAIN, *workers(8, 0.4)]), id="the workers keep up"),
        pytest.param(figures([gpu(0, 0.3)], [MAIN, *workers(8, 0.05)]), id="the workers wait"),
        pytest.param(figures([gpu(0, 0.3)], [process(3.0, holder=True)]), id="some threads of many cores"),
        pytest.param(figures([free(0)], [process(1.0, frameworks={})]), id="no framework"),
        pytest.param(figures([free(0)], [process(1.0)], wall_seconds=9.9), id="short"),
        pytest.param(figures([free(0)], [process(0.01)]), id="nothing computed"),
        pytest.param(figures([free(0)], [process(1.0, looks=4)]), id="hardly seen"),
        pytest.param(figures([], [process(1.0)]), id="no list of processes, and a node was open"),
        pytest.param(figures([], [process(1.0, nodes=None)]), id="open files unknown"),
        pytest.param(figures([free(0)], [process(1.0)], listed=False), id="PID namespace"),
        pytest.param(figures([free(0, held=None)], [process(1.0)]), id="holders unknown"),
        pytest.param(figures([gpu(0, 0.0, held_seconds=29.0)], [MAIN]), id="held for too short"),
        pytest.param(figures([gpu(0, 0.95), free(1, shared=True)], [MAIN]), id="the other GPU is somebody's"),
        pytest.param(figures([gpu(0, 0.95), free(1, shared=None)], [MAIN]), id="whose the other GPU is, is unknown"),
        pytest.param(figures([gpu(0, 0.95), free(1, busy_seconds=900.0)], [MAIN]), id="somebody computes there"),
        pytest.param(figures([gpu(0, 0.95), free(1, seconds=0.0)], [MAIN]), id="utilization unknown"),
        pytest.param(
            figures([gpu(0, 0.95), free(1)], [process(0.3, holder=True, env={"CUDA_VISIBLE_DEVICES": "0"})]),
            id="chosen",
        ),
        pytest.param(
            figures([gpu(0, 0.3)], [MAIN, *workers(8, 1.0, held_seconds=60.0, held_cpu_seconds=60.0)]),
            id="workers that compiled at the start",
        ),
    ],
)
def test_what_is_well_or_unknown_gives_no_claim(seen: RunFigures) -> None:
    assert verdict(seen) is None


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [
        (40, 95, "40 of 95 seconds"),
        (240, 1860, "4 of 31 minutes"),
        (11_520, 50_400, "3.2 of 14.0 hours"),
        (0, 30, "0 of 30 seconds"),
    ],
)
def test_times_have_the_unit_that_fits(part: float, whole: float, words: str) -> None:
    assert span(part, whole) == words


# -- lines to figures ----------------------------------------------------------------------------------------


def line(text: str) -> SampleLine:
    return decode(text)


def look(at: float, cpu: float, **changes: object) -> SampleLine:
    known = {"pid": 7, "parent": 1, "begun": 5.0, "name": "python", "cpu": cpu, "worker": False, "nodes": True}
    one = known | {"frameworks": {"torch": "/t.so"}} | changes
    return line(json.dumps({"gpu": "program", "tree": {"at": at, "processes": [one]}}))


def sample(at: float, percent: object, index: int = 0) -> SampleLine:
    return line(f'{{"gpu": "GPU {index}", "sample": {{"at": {at}, "utilization": {percent}}}}}')


def on(pids: str, index: int = 0) -> SampleLine:
    return line(f'{{"gpu": "GPU {index}", "processes": [{pids}]}}')


def device(mig: str = "null", index: int = 0) -> SampleLine:
    return line(f'{{"gpu": "GPU {index}", "device": {{"name": "H200", "mig": {mig}}}}}')


OURS, THEIRS = '{"pid": 7, "memory": 1024}', '{"pid": 8, "memory": 4096}'
UNKNOWN = '{"unknown": "NVML: GPU is lost"}'


def collected(*lines: SampleLine, listed: bool = True) -> RunFigures:
    collector = Collector(4.0, listed)
    for each in lines:
        collector.take(each, "nvidia")
    return collector.figures(60.0)


def test_busy_time_is_counted_while_the_program_holds_the_gpu() -> None:
    seen = collected(
        look(0.0, 1.0), device(), on(THEIRS), sample(0.0, 90), sample(1.0, 90), on(f"{OURS}, {THEIRS}"), look(1.0, 2.0),
        sample(2.0, 50), sample(3.0, UNKNOWN), sample(4.0, 20), look(4.0, 4.0),
    )  # fmt: skip
    (one,), (program,) = seen.gpus, seen.processes
    assert (one.seconds, one.held_seconds) == (3.0, 2.0)
    assert [one.busy_seconds, one.held_busy_seconds] == pytest.approx([1.6, 0.7])
    assert (one.held, one.shared, one.memory_peak, one.name) == (True, True, 1024, "H200")
    assert one.utilization == pytest.approx(100 * 1.6 / 3)
    assert (program.cpu_seconds, program.seconds, program.holder) == (4.0, 4.0, True)
    # The list that names it came between its first two looks: the span before is counted as held.
    assert (program.held_seconds, program.held_cpu_seconds) == (4.0, 3.0)


@pytest.mark.parametrize(
    ("lines", "listed", "held"),
    [
        ((device(), on(THEIRS)), True, False),
        ((device(), on("")), True, False),
        ((device(), on(THEIRS)), False, None),
        ((device("true"), on("")), True, None),
        ((device(UNKNOWN), on("")), True, None),
        ((on(""),), True, None),
        ((device(), line(f'{{"gpu": "GPU 0", "processes": {UNKNOWN}}}'), on("")), True, None),
        ((device(),), True, None),
        ((device(), on('{"pid": 9, "name": "nvidia-cuda-mps-server"}')), True, None),
    ],
)
def test_what_hides_processes_makes_it_unknown_who_holds_a_gpu(
    lines: tuple[SampleLine, ...], listed: bool, held: bool | None
) -> None:
    seen = collected(look(0.0, 1.0, nodes=False), *lines, sample(0.0, 0), sample(1.0, 0), listed=listed)
    assert seen.gpus[0].held is held


def test_in_a_pid_namespace_the_only_gpu_is_the_one_that_is_open() -> None:
    lines = look(0.0, 1.0), device(), on(""), sample(0.0, 10), sample(1.0, 10)
    assert collected(*lines, listed=False).gpus[0].held_seconds == 1.0
    assert collected(look(0.0, 1.0, nodes=False), *lines[1:], listed=False).gpus[0].held is None
    several = collected(*lines, device(index=1), sample(1.0, 10, 1), sample(2.0, 10), listed=False)
    assert several.gpus[0].held_seconds == 1.0


def test_time_in_which_it_is_stopped_or_nobody_looked_does_not_count() -> None:
    seen = collected(
        look(0.0, 1.0), device(), on(OURS), sample(0.0, 50), look(1.0, 1.0, stopped=True), sample(1.0, 0),
        look(2.0, 1.0), sample(2.0, 50), sample(900.0, 0),
    )  # fmt: skip
    assert (seen.gpus[0].held_seconds, seen.gpus[0].held_busy_seconds) == (1.0, 0.5)
    assert seen.processes[0].held_seconds == 1.0


def test_ten_thousand_short_processes_take_little() -> None:
    collector = Collector(Unknown("no"), True)
    for pid in range(1, 3001):
        text = f'{{"tree": {{"at": {pid}.0, "processes": [{{"pid": {pid}, "begun": 1.0, "cpu": 0.5}}]}}}}'
        collector.take(line(text), "program")
    seen = collector.figures(1.0)
    assert (len(seen.processes), seen.cpus) == (1000, None)
    assert seen.other_cpu_seconds + sum(one.cpu_seconds or 0 for one in seen.processes) == 1500.0


# -- why it held none ----------------------------------------------------------------------------------------


def why(facts: Facts, name: str = "torch") -> str | None:
    done = next(event for event in examine(None, facts=facts) if isinstance(event, Done))
    return reason(done.report, done.facts, BY_MODULE[name])


CPU_BUILD = framework(version="2.7.1+cpu", cuda=None, variant="cpu", live=None)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (with_framework(CPU_BUILD), ": PyTorch is a CPU-only build (gpudoctor check shows the fix)"),
        (
            job_without_a_gpu(),
            ": CUDA_VISIBLE_DEVICES hides every GPU (gpudoctor check shows the fix)",
        ),
        (with_framework(framework()), ", although PyTorch can use one here: the program did not ask for it"),
        (plain_host(pythons=(python(CPU_BUILD),)), None),
        (Facts(), None),
        (nvidia_host(), None),
    ],
)
def test_the_reason_is_what_a_quick_check_finds(facts: Facts, words: str | None) -> None:
    assert why(facts) == words


def test_the_environment_that_is_checked_is_the_one_that_was_imported(tmp_path: Any) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").write_text("")
    (tmp_path / "bin/python").chmod(0o755)
    library = f"{tmp_path}/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so"
    one = process(1.0, frameworks={"torch": library}, env={"CUDA_VISIBLE_DEVICES": ""})
    own = target(figures([], [one]), BY_MODULE["torch"], ["bash", "train.sh"], {"PATH": "/bin"})
    assert own == (f"{tmp_path}/bin/python", {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": ""})
    other = figures([], [process(1.0, frameworks={"torch": "/home/a/.local/lib/python3.12/t.so"})])
    assert target(other, BY_MODULE["torch"], ["bash", "train.sh"], {"PATH": "/bin"}).python is None


def test_the_report_has_no_paths_and_null_for_what_is_unknown() -> None:
    seen = figures([gpu(0, 0.03, memory_peak=None)], [MAIN], cpus=None)
    found = json.loads(render(seen, HALF_HOUR, 0, 0, verdict(seen)))
    assert found["verdict"] == {"id": "gpu-idle", "message": "GPU 0 busy 3%"}
    assert (found["cpus"], found["gpus"][0]["memory_peak"], found["exit_code"]) == (None, None, 0)
    assert found["processes"][0]["frameworks"] == ["torch"]
    early = json.loads(render(None, 1.5, 0, 9, None))
    assert early == {
        "schema": "gpudoctor.run/1",
        "exit_code": 137,
        "wall_seconds": 1.5,
        "watched": False,
        "verdict": None,
    }


def test_held_none_needs_one_whole_proof() -> None:
    assert held_none(figures([free(0), free(1)], [process(1.0)]))
    assert not held_none(figures([free(0), free(1, held=None)], [process(1.0)]))
    assert not held_none(figures([free(0), gpu(1)], [process(1.0, nodes=False)]))
