"""Children that import stand-ins for frameworks: they work, hang, crash, print, and run nobody's script."""

import sys
from pathlib import Path

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import Framework, LiveFramework, Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.probes.frameworks.live import probe, read

WORKING = """
__version__ = "2.9.0+cu128"
class version:
    cuda, hip = "12.8", None
class cuda:
    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 1)
    init = staticmethod(lambda: None)
    get_arch_list = staticmethod(lambda: ["sm_80"])
    class get_device_properties:
        def __init__(self, index):
            self.name, self.major, self.minor, self.total_memory = "NVIDIA A100", 8, 0, 1 << 30
"""


def live(folder: Path, source: str, seconds: float = 20.0, env: dict[str, str] | None = None) -> LiveFramework:
    """What a child says that imports this source as `torch`."""
    package = folder / "torch"
    package.mkdir()
    (package / "__init__.py").write_text(source)
    machine = Machine(env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", **(env or {})})
    return probe(machine, Python(path=sys.executable), Framework(name="torch", location=str(package)), seconds)


def test_reads_a_framework_that_works(tmp_path: Path) -> None:
    said = live(tmp_path, WORKING)
    assert (said.stage, said.exit_code, said.hung, said.died, said.import_error) == ("done", 0, False, None, None)
    assert (said.version, said.built_for, said.available, said.count) == ("2.9.0+cu128", "12.8", True, 1)
    assert isinstance(said.devices, tuple)
    assert (said.devices[0].name, said.devices[0].capability, said.devices[0].memory) == ("NVIDIA A100", "8.0", 1 << 30)
    assert (said.error, said.error_code, said.archs) == (None, None, ("sm_80",))
    assert said.file == str(tmp_path / "torch/__init__.py")


def test_takes_the_number_from_the_text_of_the_refusal(tmp_path: Path) -> None:
    source = WORKING + "    def init():\n        raise RuntimeError('Error 802: system not yet initialized')\n"
    said = live(tmp_path, source)
    assert (said.error, said.error_code, said.devices) == ("Error 802: system not yet initialized", 802, ())


def test_a_hang_names_its_stage_and_keeps_what_came_before(tmp_path: Path) -> None:
    said = live(tmp_path, WORKING + "    def init():\n        import time; time.sleep(60)\n", seconds=1.5)
    assert (said.stage, said.hung, said.died) == ("init", True, None)
    assert (said.available, said.count) == (True, 1)
    assert isinstance(said.devices, Unknown)
    assert said.devices.unknown.endswith("in stage init")


def test_a_framework_that_waits_for_a_driver_that_hangs_gets_less_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import may take its time; what waits for the driver after it may not."""
    monkeypatch.setattr("gpudoctor.probes.frameworks.live.ASKING", 1.0)
    said = live(tmp_path, WORKING + "    def init():\n        import time; time.sleep(60)\n", seconds=50)
    assert (said.stage, said.hung) == ("init", True)


def test_no_answer_in_too_short_a_time_is_no_hang(tmp_path: Path) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("import time; time.sleep(60)")
    machine = Machine(env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}, seconds=1.0)
    said = probe(machine, Python(path=sys.executable), Framework(name="torch", location=str(package)))
    assert (said.stage, said.hung, said.died) == ("import", False, None)
    assert said.available == Unknown("no response within 1 s in stage import, all the time that was left")


def test_a_crash_names_its_signal_and_says_where(tmp_path: Path) -> None:
    said = live(tmp_path, "import os\nprint('before', flush=True)\nos.kill(os.getpid(), 11)\n")
    assert (said.stage, said.hung, said.died, said.exit_code) == ("import", False, "SIGSEGV", None)
    assert said.version == Unknown("the process was killed by SIGSEGV in stage import")
    assert "before" in said.stderr
    assert "Segmentation fault" in said.stderr


def test_keeps_the_type_and_the_words_of_an_import_that_fails(tmp_path: Path) -> None:
    said = live(tmp_path, "raise OSError('libcublas.so.11: symbol x not defined')\n")
    assert said.import_error == "OSError: libcublas.so.11: symbol x not defined"
    assert said.version == Unknown("import failed: OSError: libcublas.so.11: symbol x not defined")
    assert said.stage == "done"


def test_survives_a_framework_that_leaves(tmp_path: Path) -> None:
    assert live(tmp_path, "import sys\nsys.exit('no GPU')\n").import_error == "SystemExit: no GPU"


def test_a_framework_that_prints_on_stdout_cannot_forge_facts(tmp_path: Path) -> None:
    said = live(tmp_path, "import os\nos.write(1, b'gpudoctor:{\"count\": 99}\\n')\n" + WORKING)
    assert said.count == 1
    assert "99" in said.stderr


@pytest.mark.parametrize(("variant", "traced"), [("xpu", True), ("cuda", False)])
def test_sycl_reports_what_it_cannot_load(tmp_path: Path, variant: str, traced: bool) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    names = ("SYCL_UR_TRACE", "ZE_ENABLE_LOADER_DEBUG_TRACE")
    (package / "__init__.py").write_text(f"import os\nprint([os.environ.get(name) for name in {names}])\n{WORKING}")
    machine = Machine(env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"})
    said = probe(machine, Python(path=sys.executable), Framework(name="torch", location=str(package), variant=variant))
    assert ("['1', '1']" in said.stderr) == traced


def test_collects_warnings(tmp_path: Path) -> None:
    said = live(tmp_path, "import warnings\nwarnings.warn('no numpy')\nwarnings.warn('no numpy')\n" + WORKING)
    assert said.warnings == ("UserWarning: no numpy",)


def test_nothing_of_ours_hides_a_module_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "common.py").write_text("mine = True\n")
    said = live(tmp_path, "import common, os, sys\nassert common.mine\nassert os.getcwd() == '/'\n" + WORKING)
    assert said.import_error is None
    assert not list(tmp_path.rglob("__pycache__"))


@pytest.mark.parametrize("name", ["PYTHONINSPECT", "PYTHONSTARTUP", "PYTHONVERBOSE"])
def test_variables_that_run_code_are_not_passed(tmp_path: Path, name: str) -> None:
    said = live(tmp_path, f"import os\nassert {name!r} not in os.environ\n" + WORKING, env={name: "1"})
    assert said.import_error is None


def test_a_users_script_of_that_name_is_not_run(tmp_path: Path) -> None:
    script = tmp_path / "torch.py"
    script.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    machine = Machine(env={"PYTHONPATH": str(tmp_path)})
    said = probe(machine, Python(path=sys.executable), Framework(name="torch", location=str(script)))
    assert said.version == Unknown(f"import would run {script}, which is not the framework")
    assert not (tmp_path / "ran").exists()


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    said = probe(Machine(env={}), Python(path=str(tmp_path / "python")), Framework(name="torch"))
    assert said.stage == "start"
    assert said.version == Unknown(f"{tmp_path}/python was not started: No such file or directory")


def test_nothing_runs_under_another_root(tmp_path: Path) -> None:
    said = probe(Machine(root=str(tmp_path)), Python(path=sys.executable), Framework(name="torch"))
    assert said.count == Unknown("programs are not run under another root")


def test_nonsense_is_unknown_and_hides_nothing_else() -> None:
    out = 'gpudoctor:{"stage": "devices"}\ngpudoctor:{"count": "two", "available": true}\ngpudoctor:{"devi'
    said = read("torch", ChildResult(argv=("python",), code=1, out=out, err="MemoryError\n"))
    assert isinstance(said.count, Unknown)
    assert said.available is True
    assert said.devices == Unknown("the process exited in stage devices with code 1: MemoryError")


def test_keeps_the_last_lines_of_stderr_without_colours() -> None:
    err = "".join(f"line {number}\n" for number in range(100)) + "\x1b[1;31mred\x1b[m\n"
    said = read("torch", ChildResult(argv=("python",), code=0, err=err))
    assert said.stderr.splitlines()[0] == "line 61"
    assert said.stderr.splitlines()[-1] == "red"
