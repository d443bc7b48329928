"""Tests of Ollama's service: its account, and the variables that its server starts with."""

import pytest

from gpudoctor.facts import Host, Ollama
from gpudoctor.facts.ollama import NO_SERVICE, OllamaService, OllamaSetting
from gpudoctor.maybe import Unknown
from gpudoctor.probes import ollama
from gpudoctor.probes.ollama_service import probe
from gpudoctor.recorded_machine import RecordedMachine

UNIT = "/etc/systemd/system/ollama.service"
DROP_INS = f"{UNIT}.d"
PACKAGED = "/usr/lib/systemd/system/ollama.service"
START = "[Unit]\nEnvironment=CUDA_VISIBLE_DEVICES=7\n[Service]\nExecStart=/usr/local/bin/ollama serve\n"
MASK = "Environment=CUDA_VISIBLE_DEVICES="


def seen(files: dict[str, str], **env: str) -> list[tuple[str, str, str]]:
    _, found = probe(RecordedMachine(files, env=env))
    assert not isinstance(found, Unknown)
    return [(one.name, one.value, one.path) for one in found]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({UNIT: START}, []),
        ({UNIT: f"{START}{MASK}1\n"}, [("1", UNIT)]),
        ({UNIT: f'{START}Environment="A=1 2" "CUDA_VISIBLE_DEVICES=0,1" B=2\n'}, [("0,1", UNIT)]),
        ({UNIT: f"{START}Environment=A=1 \\\n  CUDA_VISIBLE_DEVICES=1\n"}, [("1", UNIT)]),
        ({UNIT: f"{START}{MASK}1\nEnvironment=\n"}, []),
        ({UNIT: f"{START}#{MASK}1\n"}, []),
        ({UNIT: f'{START}Environment="CUDA_VISIBLE_DEVICES=1\n'}, []),  # an open quotation mark
        ({UNIT: f"{START}{MASK}1\nUnsetEnvironment=CUDA_VISIBLE_DEVICES\n"}, []),
        ({UNIT: f"{START}{MASK}1\n", PACKAGED: f"{START}{MASK}2\n"}, [("1", UNIT)]),
        ({PACKAGED: f"{START}{MASK}2\n"}, [("2", PACKAGED)]),
        (
            {PACKAGED: START, f"{DROP_INS}/b.conf": f"[Service]\n{MASK}2\n", f"{DROP_INS}/a.conf": "[Service]\n"},
            [("2", f"{DROP_INS}/b.conf")],
        ),
        (
            {PACKAGED: START, f"{DROP_INS}/a.conf": "", f"{PACKAGED}.d/a.conf": f"[Service]\n{MASK}2\n"},
            [],  # hidden by the one in /etc
        ),
        ({UNIT: f"{START}{MASK}1\n", f"{DROP_INS}/a.conf": f"[Service]\n{MASK}\n"}, []),
        ({UNIT: f"{START}{MASK}1\n", f"{DROP_INS}/notes.txt": f"[Service]\n{MASK}3\n"}, [("1", UNIT)]),
        (
            {UNIT: f"{START}EnvironmentFile=-/etc/o\n{MASK}1\n", "/etc/o": "# A=1\nCUDA_VISIBLE_DEVICES='0'\n"},
            [("0", "/etc/o")],
        ),
        ({UNIT: f"{START}EnvironmentFile=-/etc/gone\n{MASK}1\n"}, [("1", UNIT)]),
    ],
)
def test_the_service(files: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert seen(files, CUDA_VISIBLE_DEVICES="5") == [("CUDA_VISIBLE_DEVICES", *each) for each in expected]


def test_without_a_service_the_environment_counts() -> None:
    given = [("CUDA_VISIBLE_DEVICES", "0", ""), ("OLLAMA_LLM_LIBRARY", "cuda", "")]
    assert seen({}, OLLAMA_LLM_LIBRARY="cuda", CUDA_VISIBLE_DEVICES="0", OLLAMA_HOST="x", OLLAMA_VULKAN="") == given


def test_a_file_that_cannot_be_read() -> None:
    drop_in = f"{DROP_INS}/override.conf"
    machine = RecordedMachine({UNIT: START, drop_in: ""}, errors={drop_in: "EACCES"})
    hidden = Unknown(f"{drop_in}: Permission denied")
    assert probe(machine) == (OllamaService(user=hidden, groups=hidden), hidden)


ACCOUNTS = {
    "/etc/passwd": "root:x:0:0::/root:/bin/sh\nollama:x:997:996::/usr/share/ollama:/bin/false\n",
    "/etc/group": "root:x:0:\nvideo:x:44:me\nrender:x:110:me,ollama\nollama:x:996:\nkvm:x:105:\n",
}
OWN_USER = "[Service]\nUser=ollama\nGroup=ollama\n"


@pytest.mark.parametrize(
    ("files", "service"),
    [
        ({}, NO_SERVICE),
        ({UNIT: OWN_USER}, OllamaService(user="ollama", groups=(110, 996))),
        ({UNIT: "[Service]\n"}, OllamaService(user="root", groups=(0,))),
        (
            {UNIT: OWN_USER, f"{PACKAGED}.d/a.conf": "[Service]\nUser=root\nGroup=\nSupplementaryGroups=kvm 7\n"},
            OllamaService(user="root", groups=(0, 7, 105)),
        ),
        (
            {UNIT: "[Service]\nDynamicUser=true\nSupplementaryGroups=render\n"},
            OllamaService(user="ollama", groups=(110, 996)),
        ),
        (
            {UNIT: "[Service]\nUser=llm\n"},
            OllamaService(user="llm", groups=Unknown("/etc/passwd does not have the user llm of ollama.service")),
        ),
    ],
)
def test_the_account(files: dict[str, str], service: OllamaService) -> None:
    assert probe(RecordedMachine(ACCOUNTS | files))[0] == service


def test_the_override_of_one_gpu_counts() -> None:
    files = {UNIT: f"{START}EnvironmentFile=/etc/o\n", "/etc/o": "HSA_OVERRIDE_GFX_VERSION_0=11.0.0\n"}
    assert seen(files) == [("HSA_OVERRIDE_GFX_VERSION_0", "11.0.0", "/etc/o")]


def test_a_file_of_variables_that_is_not_there() -> None:
    machine = RecordedMachine({UNIT: f"{START}EnvironmentFile=/etc/o\n"})
    assert probe(machine)[1] == Unknown("/etc/o: No such file or directory")


LIB = "/usr/local/lib/ollama"
OWN = dict.fromkeys((f"{LIB}/libggml-cpu.so", f"{LIB}/vulkan/libggml-vulkan.so", f"{LIB}/cuda_v12/libggml-cuda.so"), "")
VERSION = "/sys/module/nvidia/version"


def look(files: dict[str, str]) -> Ollama:
    files = {"/usr/local/bin/ollama": "\x7fELF"} | OWN | files
    commands = {"ollama --version": "ollama version is 0.31.1"}
    machine = RecordedMachine(files, env={"PATH": "/usr/local/bin"}, commands=commands)
    return ollama.probe(machine, Host(cpu_flags=("avx",)), True)


def test_libraries_by_directory() -> None:
    found = look({f"{LIB}/cuda_v12/libcudart.so.12.8.90": "", "/usr/share/vulkan/icd.d/nvidia_icd.json": ""})
    assert (found.folders, found.cudart, found.vulkan_driver) == (("cuda_v12", "vulkan"), "12.8", False)
    assert look({}).cudart is None


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        ({}, False),
        ({VERSION: "580.95.05"}, False),
        ({VERSION: "550.163.01"}, True),
        ({"/dev/dxg": ""}, True),  # WSL: the driver is Windows' own
        ({UNIT: f"{START}{MASK}1\n"}, True),
    ],
)
def test_when_the_release_matters(files: dict[str, str], asked: bool) -> None:
    assert (look(files).release == "0.31.1") is asked


def test_a_vulkan_driver_is_looked_for_with_a_setting() -> None:
    found = look({UNIT: f"{START}{MASK}1\n", "/usr/share/vulkan/icd.d/nvidia_icd.x86_64.json": ""})
    assert found.vulkan_driver
    assert found.settings == (OllamaSetting(name="CUDA_VISIBLE_DEVICES", value="1", path=UNIT),)
