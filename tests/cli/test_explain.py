"""`gpudoctor explain`: a check by its id; a log by what is found here; exit codes, JSON, text."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gpudoctor import checks
from gpudoctor.cli.explain import NOTHING
from gpudoctor.cli.other_ids import message_page
from gpudoctor.cli.run_program import verdict as run_verdict
from gpudoctor.fleet.aggregate import links, requested_gpus
from gpudoctor.knowledge.symptoms import symptoms
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import check
from gpudoctor.report import smoke
from gpudoctor.symptoms import attach
from tests.builders import change, framework, nvidia_host, with_framework
from tests.checks.nvidia_machines import WHY, unloaded
from tests.cli import Ran, gpudoctor, main, shell
from tests.cli.conftest import Run
from tests.symptoms.samples import trace

NO_GPU = trace("RuntimeError: No CUDA GPUs are available", "torch/cuda/__init__.py")
COMMAND = " " * 12  # which is never broken
NOISE = "2026: E cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in this process, with our own checks alone."""

    def ran(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(arguments)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return ran


@pytest.fixture
def explain(run: Run, tmp_path: Path) -> Run:
    """Explains a log by the facts of a machine: healthy, or one whose mask hides its GPU."""
    hidden = change(nvidia_host(), "host.environment", {"CUDA_VISIBLE_DEVICES": "-1"})
    hidden = change(change(hidden, "nvidia.cuda.code", 100), "nvidia.cuda.unmasked_code", 0)
    (tmp_path / "hidden").write_bytes(msgspec.json.encode(with_framework(framework(), hidden)))
    (tmp_path / "well").write_bytes(msgspec.json.encode(with_framework(framework())))

    def ran(machine: str, log: str, *arguments: str) -> Ran:
        (tmp_path / "log").write_text(log)
        return run("explain", "--log", str(tmp_path / "log"), "--facts", str(tmp_path / machine), *arguments)

    return ran


@pytest.mark.parametrize(
    ("machine", "log", "code"),
    [
        ("well", "step 1\nstep 2\n", 0),
        ("well", NOISE, 0),
        ("well", "UserWarning: Failed to load image Python extension: x\n", 1),
        ("well", NO_GPU, 1),
        ("well", trace("KeyError: 'labels'"), 3),
        ("well", trace("KeyError: 'labels'") + NO_GPU, 1),
        ("hidden", NO_GPU, 1),
        ("hidden", "step 1\n", 1),
        ("hidden", trace("KeyError: 'labels'"), 1),
    ],
)
def test_the_exit_code_is_the_same_in_text_and_json(explain: Run, machine: str, log: str, code: int) -> None:
    text, document = explain(machine, log), explain(machine, log, "--json")
    assert (text.code, document.code, text.err, document.err) == (code, code, "", "")
    assert json.loads(document.out)["schema"] == "gpudoctor.report/1"


def test_the_root_cause_is_the_first_line(explain: Run) -> None:
    lines = explain("hidden", f"{NOISE}{NO_GPU}").out.splitlines()
    assert lines[0] == "CAUSE     CUDA_VISIBLE_DEVICES hides every GPU"
    assert "log       line 7: RuntimeError: No CUDA GPUs are available" in lines
    assert "MESSAGE   CUDA starts but lists no device" in lines
    assert "Omitted as harmless: 1 line of TensorFlow." in lines
    assert [line for line in lines if line.startswith("machine")]


def test_the_cause_here_and_its_fix_come_first_and_the_message_is_a_line(
    run: Run, explain: Run, tmp_path: Path
) -> None:
    explain("hidden", NO_GPU)
    typed = run("explain", "No CUDA GPUs are available", "--facts", str(tmp_path / "hidden")).out
    before, _, after = typed.partition("\nMESSAGE ")
    assert before.startswith("CAUSE     CUDA_VISIBLE_DEVICES hides every GPU\n")
    assert "\nfix  " in before
    assert after.startswith("  CUDA starts but lists no device\n\ngpudoctor")
    logged = explain("hidden", NO_GPU).out.partition("\nMESSAGE ")[2].partition("\ngpudoctor")[0]
    assert logged.split("\n") == [
        "  CUDA starts but lists no device",
        "log       line 6: RuntimeError: No CUDA GPUs are available",
        "",
    ]
    assert "\nruled out " in explain("hidden", NO_GPU, "--verbose").out


def test_where_nothing_explains_it_a_sentence_says_that_the_machine_was_checked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "well").write_bytes(msgspec.json.encode(with_framework(framework())))
    said = " ".join(run("explain", "803", "--facts", str(tmp_path / "well")).out.split())
    assert "here This machine was checked: nothing found on it explains this message." in said
    assert "here This machine was checked" not in run("explain", "803", "--elsewhere").out


def test_a_typed_message_is_no_log(run: Run, tmp_path: Path) -> None:
    (tmp_path / "well").write_bytes(msgspec.json.encode(with_framework(framework())))

    def said(text: str) -> str:
        return " ".join(run("explain", text, "--facts", str(tmp_path / "well")).out.split())

    for text in ("803", "RuntimeError: No CUDA GPUs are available", "my gpu is not detected", "KeyError: 'x'"):
        assert " asked " in said(text)
        assert " log " not in said(text)
        assert "which machine" not in said(text)
    noise = said("Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN")
    assert noise.startswith("MESSAGE Harmless: two parts of XLA register the same plugin")
    other = run("explain", "NVIDIA GeForce RTX 3060 with CUDA capability sm_86 is not compatible with x").out
    assert "The message is from another machine (GPU GeForce RTX 3060 in the message, " in " ".join(other.split())


def test_a_python_without_the_framework_is_named_first(run: Run, tmp_path: Path) -> None:
    (tmp_path / "well").write_bytes(msgspec.json.encode(with_framework(framework())))
    said = run("explain", "jax.devices() returns [CpuDevice(id=0)]", "--facts", str(tmp_path / "well")).out
    first = "Checked /opt/env/bin/python, which has no JAX. MESSAGE "  # on another machine nobody can check another one
    assert " ".join(said.split()).startswith(first)
    assert "--python" not in said
    facts = with_framework(framework())
    report = attach(check(None, facts=facts), "jax.devices() returns [CpuDevice(id=0)]", facts)
    assert report.symptoms[0].notice.endswith("no JAX: use --python YOUR_ENV to check the one that has it.")
    asked = run("explain", "torch.cuda.is_available() is False", "--facts", str(tmp_path / "well")).out
    here = "MESSAGE Here torch.cuda.is_available() is True (1 GPU: NVIDIA GeForce RTX 4090) asked "
    assert " ".join(asked.split()).startswith(here)


def test_without_a_finding_it_says_what_it_means_what_was_ruled_out_and_what_to_try(explain: Run) -> None:
    lines = explain("well", NO_GPU).out.splitlines()
    assert lines[:2] == [
        "MESSAGE   CUDA starts but lists no device",
        "log       line 6: RuntimeError: No CUDA GPUs are available",
    ]
    said = " ".join(" ".join(lines).split())
    assert "ruled out device.no-gpu" in said
    assert "container.shm-small" not in said
    assert "visibility checks" in said
    assert "fix See which GPUs the program may see, and unset a variable that hides them. echo" in said
    whole = " ".join(explain("well", NO_GPU, "--verbose").out.split())
    assert "visibility.cuda-hides-all" in whole


def test_what_a_program_advises_wrongly_is_named(explain: Run) -> None:
    said = " ".join(
        explain("well", trace("RuntimeError: Found no NVIDIA driver on your system. Please check")).out.split()
    )
    assert "note The message suggests downloading a driver from nvidia.com: in a container that cannot help" in said


def test_an_error_that_nobody_knows_is_shown_and_what_is_wrong_here_too(explain: Run) -> None:
    well, hidden = (explain(machine, trace("KeyError: 'labels'")).out for machine in ("well", "hidden"))
    first = "MESSAGE   An error in the program's own code that gpudoctor does not know;\n"
    first += "          nothing in its words points to the GPU\n"
    first += "log       line 4: KeyError: 'labels'\n"
    assert well.startswith(first)
    assert hidden.startswith(first)
    assert "Also wrong on this machine\nFAIL      CUDA_VISIBLE_DEVICES" in hidden
    assert "Wrong on this machine" not in well


def test_json_has_the_symptoms(explain: Run) -> None:
    report = json.loads(explain("hidden", NOISE + NO_GPU, "--json").out)
    first, second = report["symptoms"]
    assert (first["id"], first["role"], first["line"], first["program"]) == ("torch-no-gpus", "root", 7, "PyTorch")
    assert first["explained_by"] == ["visibility.cuda-hides-all"]
    assert first["ruled_out"]
    assert (second["id"], second["role"], second["times"]) == ("tf-factory", "harmless", 1)
    assert report["findings"][0]["check"] == "visibility.cuda-hides-all"


def test_an_id_is_explained_as_before(run: Run) -> None:
    ran = run("explain", "driver.library-mismatch")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Driver/library version mismatch: module and libraries differ\n===")


def test_what_the_check_reports_on_the_machine_stands_before_its_page(run: Run, explain: Run, tmp_path: Path) -> None:
    def asked(id_: str, machine: str) -> str:
        return run("explain", id_, "--facts", str(tmp_path / machine)).out

    hidden = asked("visibility.cuda-hides-all", "hidden")
    assert re.search(r"\n\nFAIL      There\n          CUDA_VISIBLE_DEVICES.*\nfix  .*\nid  .*\nSources\n", hidden, re.S)
    assert "cause  " not in hidden
    assert "\n\nthere     No problem: the check passed.\n\nid " in asked("visibility.cuda-hides-all", "well")
    assert "\n\nthere     Does not apply to this machine.\n\nid " in asked("wsl.version-1", "well")
    assert re.search(r"\nhere      \w+", run("explain", "wsl.version-1").out)
    assert "\nhere  " not in run("explain", "wsl.version-1", "--elsewhere").out


def test_the_long_page_of_a_check_names_its_code_and_its_facts(run: Run) -> None:
    short, long = run("explain", "device.none"), run("explain", "device.none", "-v")
    assert long.code == 0
    added = long.out.removeprefix(short.out)
    assert added != long.out
    rows = dict(line.split(maxsplit=1) for line in added.splitlines() if re.match(r"  \S+ ", line))
    assert rows["rule"] == "checks/device/none.py"
    assert rows["nvidia.kernel"] == "gpudoctor/probes/nvidia/kernel.py"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], NOTHING),
        (["--json"], NOTHING),
        (["driver.not-loaded", "--log", "x"], "Give what to explain or --log FILE, not both."),
        (["--log", "/no/such/log"], "The log /no/such/log cannot be read: No such file or directory."),
        (["--log", "/sys"], "No logs in /sys."),
        (["--log", "-", "--facts", "-"], "Only one of log and facts can be standard input."),
        (["driver.not-loded"], 'Unknown check "driver.not-loded". Did you mean "driver.not-loaded"?'),
        (["run.log"], "The log run.log cannot be read: No such file or directory."),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(arguments: list[str], sentence: str) -> None:
    assert gpudoctor("explain", *arguments).sentence == sentence


@pytest.mark.parametrize(
    ("content", "rest"),
    [
        (b"\x1f\x8b" + bytes(99), "compressed. Use: `zcat run.log | gpudoctor explain --log -`."),
        (b"", "empty."),
        (b"\x7fELF\x02\x01\x01" + bytes(99), "not text."),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, content: bytes, rest: str) -> None:
    (tmp_path / "run.log").write_bytes(content)
    assert gpudoctor("explain", "run.log", cwd=tmp_path).sentence == f"The log run.log is {rest}"


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/full", "/dev/urandom"])
def test_a_device_without_an_end_is_no_log(path: str) -> None:
    assert gpudoctor("explain", "--log", path).sentence == f"{path} is an endless device, not a log."


def test_a_log_from_standard_input_examines_this_machine() -> None:
    ran = gpudoctor("explain", "--quick", "--log", "-", "--json", stdin=NO_GPU)
    report = json.loads(ran.out)
    assert (ran.code, ran.err) == (1, "")
    assert report["symptoms"][0]["id"] == "torch-no-gpus"
    assert report["python"]["path"]
    closed = shell("gpudoctor explain --quick --log - <&-")
    assert closed.sentence == "Standard input is closed: no log to read."


def test_a_large_log_of_any_bytes_is_read(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        for _ in range(15):
            file.write(os.urandom(1 << 16) + b"\r\x1b[31m" * 1000 + b"x" * (1 << 18) + b"\n")
        file.write(NO_GPU.encode("utf-8"))
    ran = gpudoctor("explain", "--quick", "--log", "log", "--json", cwd=tmp_path)
    assert (ran.code, ran.err) == (1, "")
    assert json.loads(ran.out)["symptoms"][0]["id"] == "torch-no-gpus"


def test_nothing_in_a_log_moves_a_cursor(explain: Run) -> None:
    log = trace("RuntimeError: No CUDA GPUs are available \x9b2J\x07\u202e \x1b]0;owned\x07 \x1b[2J")
    for options in ([], ["--json"], ["--verbose"]):
        ran = explain("well", log, *options)
        assert not {c for c in ran.out if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e")}


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_it_is_no_wider_than_the_terminal(explain: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = explain("well", NOISE + NO_GPU + NO_GPU).out.splitlines()
    assert max(len(line) for line in lines if "/" not in line and not line.startswith(COMMAND)) <= columns


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        ("803", 1, "libcuda and the kernel module do not match"),
        ("CUDA_ERROR_NO_DEVICE", 1, "CUDA starts but lists no device"),
        ("Xid 79", 1, "Xid 79: GPU fell off the bus"),
        ("exit 137", 1, "SIGKILL"),
        ("RuntimeError: No CUDA GPUs are available", 1, "CUDA starts but lists no device"),
        ("RuntimeError: brand new", 3, "This is an error that gpudoctor does not know"),
        ("the fabric is gone", 3, "fabric.manager-down: "),
        ("visibility", 0, "visibility.cuda-hides-all"),
        ("46", 0, 'gpudoctor explain "Xid 46"'),
        ("torch.cuda.is_available() returns False", 1, "Here torch.cuda.is_available() is True (1 GPU: NVIDIA"),
        ("out of memory", 1, "The GPU is out of memory"),
    ],
)
def test_one_door_for_codes_messages_and_areas(
    explain: Run, run: Run, tmp_path: Path, words: str, code: int, shown: str
) -> None:
    ran = run("explain", *words.split(), "--facts", str(tmp_path / "well"))
    assert (ran.code, ran.err) == (code, "")
    assert shown in " ".join(ran.out.split())


KERNEL = "[    0.000000] Linux version 5.4.0-42-generic (builder) #1 SMP\n"


def test_the_log_of_another_machine_is_explained_by_itself(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(KERNEL + NO_GPU)
    ran = run("explain", "--quick", str(tmp_path / "log"))
    assert ran.code == 1
    assert ran.out.startswith("MESSAGE   CUDA starts but lists no device\n")
    said = " ".join(ran.out.split())
    assert "The log is from another machine (kernel 5.4.0-42-generic in the log, " in said
    assert "CAUSE" not in ran.out
    assert "ruled out" not in ran.out
    here = run("explain", "--quick", "--here", str(tmp_path / "log"))
    assert "another machine" not in here.out


def test_elsewhere_checks_nothing_here(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(NO_GPU)
    report = json.loads(run("explain", "--elsewhere", "--json", str(tmp_path / "log")).out)
    assert (report["log_origin"]["where"], report["findings"], report["gpus"]) == ("elsewhere", [], [])
    assert report["symptoms"][0]["id"] == "torch-no-gpus"


def test_the_logs_of_all_ranks_are_read_together(run: Run, tmp_path: Path) -> None:
    waits = "[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE) ran for 600000 ms\n"
    for rank, text in enumerate((waits.format(0), trace("RuntimeError: CUDA error: out of memory"), waits.format(2))):
        (tmp_path / f"rank{rank}.log").write_text(text)
    logs = [str(tmp_path / f"rank{rank}.log") for rank in range(3)]
    for given in (["--log", *logs], logs, [str(tmp_path)]):
        ran = run("explain", "--elsewhere", *given)
        assert ran.code == 1
        assert ran.out.startswith("MESSAGE   The GPU is out of memory")
        said = " ".join(ran.out.split())
        assert "evidence Rank 1 failed first; rank 0, 2 waited for it." in said
        assert "first rank 1: " in said
    report = json.loads(run("explain", "--elsewhere", "--json", *logs).out)
    assert [(one["rank"], one["role"]) for one in report["ranks"]] == [(1, "first"), (0, "waited"), (2, "waited")]


def test_logs_without_an_extension_and_one_that_is_not_there(run: Run, tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / f"rank{rank}").write_text(trace("RuntimeError: CUDA error: out of memory"))
    logs = [str(tmp_path / f"rank{rank}") for rank in (0, 1)]
    assert [one["rank"] for one in json.loads(run("explain", "--elsewhere", "--json", *logs).out)["ranks"]] == [0, 1]
    missing = gpudoctor("explain", "--log", logs[0], str(tmp_path / "no" / "such.log"))
    assert missing.sentence == f"The log {tmp_path}/no/such.log cannot be read: No such file or directory."


def test_an_area_is_no_directory_of_the_same_name(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "driver").mkdir()
    monkeypatch.chdir(tmp_path)
    assert run("explain", "driver").out.startswith("driver\n  driver.blacklisted")


@pytest.mark.parametrize("what", ["Key was rejected by service", "Required key not available"])
def test_an_error_that_somebody_pasted_is_evidence(run: Run, tmp_path: Path, what: str) -> None:
    closed = Unknown("dmesg: Operation not permitted")
    facts = unloaded(host__kernel__secure_boot=True, host__kernel__lockdown=WHY, log__events=closed)
    (tmp_path / "facts").write_bytes(msgspec.json.encode(facts))
    words = ("--facts", str(tmp_path / "facts"))
    said = run("explain", f"modprobe: ERROR: could not insert 'nvidia': {what}", *words).out
    assert said.startswith("CAUSE     Secure Boot rejects NVIDIA's kernel module\n")
    other = run("explain", f"modprobe: ERROR: could not insert 'vboxdrv': {what}", *words).out
    assert "CAUSE" not in other
    assert "unknown   driver.refused-by-secure-boot" in other


def _printed_ids() -> Iterator[str]:
    """IDs that outputs print and that are no checks."""
    yield from (requested_gpus.CHECK, *links.TITLES, smoke.NO_GPU.check, "probe", "expect.gpus-ecc")
    yield from re.findall(r'RunVerdict\(\s*"([a-z-]+)"', Path(run_verdict.__file__).read_text())


@pytest.mark.parametrize("id_", [*_printed_ids()])
def test_each_id_that_is_printed_is_explained(run: Run, id_: str) -> None:
    ran = run("explain", id_)
    assert (ran.code, ran.err) == (0, "")
    assert "\n===" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100


def test_no_other_id_is_one_of_a_check() -> None:
    assert not {*_printed_ids()} & {*checks.ids()}


def test_each_message_is_explained_by_its_id(run: Run) -> None:
    for row in symptoms():
        page = message_page(row.id, 80)
        assert page, row.id
        assert page.startswith(f"{row.id}\n===")
    assert "Checks that look for its cause: " in run("explain", "cuda-no-kernel").out
