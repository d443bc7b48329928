"""The tables of messages: every row can be met, names checks that are there, and has something to say."""

import re
from pathlib import Path

import msgspec
import pytest

import gpudoctor.knowledge
from gpudoctor import catalogue
from gpudoctor.fixes.row_steps import alternatives
from gpudoctor.knowledge.errors import xid
from gpudoctor.knowledge.kernel_log import kinds
from gpudoctor.knowledge.symptoms import TABLES, Symptom, SymptomFix, engines, parts, recognise, symptoms
from gpudoctor.symptoms.extractors import READERS
from gpudoctor.toml import tomllib
from tests.at_once import at_once

HERE = Path(gpudoctor.knowledge.__file__).parent
ROWS = symptoms()
KNOWN = [row for row in ROWS if row.kind != "noise"]


def test_ids_are_unique_and_all_tables_are_read() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS)
    assert {path.stem for path in HERE.glob("symptoms*.toml")} == set(TABLES)


@at_once(ROWS, lambda row: row.id)
def test_a_row_is_whole(row: Symptom) -> None:
    letters = [*row.has, re.sub(r"\\.", "", row.pattern)]
    assert letters == [text.lower() for text in letters], "lines are compared in small letters"
    re.compile(row.pattern)
    assert row.has or row.kinds
    assert row.meaning
    assert not row.meaning.endswith(".")
    assert not row.advice.endswith(".")
    assert all(one.message.endswith(".") for one in row.fixes)
    typed = [command for one in row.fixes for command in alternatives(one)]
    assert [command for command in typed if not command or command != command.strip()] == []
    assert not row.tells or row.tells in {name for names in READERS.values() for name in names}
    if row.kind == "noise":
        assert (row.checks, row.fixes, row.advice) == ((), (), "")


@at_once(KNOWN, lambda row: row.id)
def test_a_row_names_checks_that_are_there_or_what_to_try(row: Symptom) -> None:
    ids = catalogue.ids()
    areas = {i.split(".")[0] for i in ids}
    assert [c for c in row.checks if c not in ids and not (c.endswith(".*") and c[:-2] in areas)] == []
    assert len(set(row.checks)) == len(row.checks)
    assert row.checks or row.fixes


# Where a step is taken is data, from which the sentence gets its beginning and its end: `fixes/row_steps.py`.
_AS_WORDS = re.compile(
    r"In (a container|Docker|Kubernetes|WSL|conda)\b|On the (machine|host|node)\b|Then |A kernel built with"
    r"|(On|Install (it|them) on) (Debian|Ubuntu|Fedora|RHEL|SUSE|Arch)\b"
    r"|.*\([^)]*\b((not|on) (Ubuntu|Debian|Fedora|RHEL)|Debian, Ubuntu|Ubuntu;)"
)
_DRIVERLESS = re.compile(r"\b[Ii]nstall (or load )?the (NVIDIA )?driver\b|^If no driver is|^Without an NVIDIA GPU\b")
_MANAGERS = {
    "debian": re.compile(r"\b(apt|apt-get|apt-cache|dpkg|update-initramfs|update-grub|ubuntu-drivers)\b(?!\.)"),
    "fedora": re.compile(r"\b(dnf|yum|rpm|akmods|dracut|grubby|kmodgenca)\b(?!/)"),
    "suse": re.compile(r"\bzypper\b"),
    "arch": re.compile(r"\b(pacman|mkinitcpio|yay)\b"),
}
_FAMILY = {"ubuntu": "debian", "rhel": "fedora"}


@at_once(KNOWN, lambda row: row.id)
def test_where_a_step_is_taken_is_data(row: Symptom) -> None:
    assert [one.message for one in row.fixes if _AS_WORDS.match(one.message)] == []
    assert [one.message for one in row.fixes if _DRIVERLESS.search(one.message) and not one.without_driver] == []
    for one in row.fixes:
        keyed = [item for entry in one.commands if isinstance(entry, dict) for item in entry.items()]
        plain = [(key, entry) for entry in one.commands if isinstance(entry, str) for key in one.distribution or ("",)]
        wrong = [
            line
            for key, line in (*keyed, *plain)
            for family, program in _MANAGERS.items()
            if program.search(line) and _FAMILY.get(key, key) != family
        ]
        assert wrong == [], "a package manager's command names its distribution"


@pytest.mark.parametrize(
    "fix",
    [
        'message = "x.", wher = "wsl"',
        'message = "x.", where = "the host"',
        'message = "x.", commands = [{ gentoo = "emerge x" }]',
        'message = "x.", distribution = ["gentoo"]',
    ],
)
def test_a_condition_that_is_none_is_refused(fix: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(tomllib.loads(f"fix = {{ {fix} }}")["fix"], SymptomFix)


def test_what_starts_containers_writes_one_of_the_rows() -> None:
    assert engines() <= {row.program for row in ROWS}


@pytest.mark.parametrize("table", TABLES)
def test_a_row_names_a_source_of_its_table(table: str) -> None:
    data = tomllib.loads((HERE / f"{table}.toml").read_text())
    assert {row["source"] for row in data["row"]} == {source["id"] for source in data["source"]}


def test_every_text_has_a_part_by_which_it_is_found() -> None:
    assert [text for row in ROWS for text in row.has if not any(part in text for part in parts())] == []


@pytest.mark.parametrize("text", ["", "step 12 loss 0.3", "Traceback (most recent call last):", "x" * 100_000])
def test_what_means_nothing_is_not_recognised(text: str) -> None:
    assert recognise(text) is None


def test_the_special_comes_before_the_general() -> None:
    said = {
        "RuntimeError: The MPS backend is supported on MacOS 13.0+.Current OS version": "mps-macos",
        'OSError: [WinError 126] The specified module could not be found. Error loading "c10.dll"': "windows-library",
        "ImportError: DLL load failed while importing _pywrap_tensorflow_internal": "windows-library",
        "NotFoundError: dlopen(/x/tensorflow-plugins/libmetal_plugin.dylib, 0x6): Symbol not found": "tensorflow-metal",
        "ERROR! Intel Extension needs to work with PyTorch 2.2.*, but PyTorch 2.1.0 is found.": "ipex-mismatch",
        "i915 0000:03:00.0: [drm] GuC firmware i915/dg2_guc_70.2.0.bin: fetch failed": "intel-firmware",
        "i915 0000:03:00.0: Your graphics device 56a0 is not properly supported by i915": "intel-unknown-device",
        "ImportError: x.so: undefined symbol: _ZN3c105ErrorC2E": "extension-abi",
        "ImportError: x.so: undefined symbol: ncclCommResume": "symbol-nccl",
        "ImportError: x.so: undefined symbol: my_own": "undefined-symbol",
        "OSError: libcudnn.so.9: cannot open shared object file": "cudart-cu-library",
        "OSError: libmine.so.9: cannot open shared object file": "shared-object",
        "W Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open": "tf-tensorrt",
    }
    assert {text: row.id if (row := recognise(text)) else None for text in said} == said


# Kinds of the kernel log that say nothing is wrong, or only add to a line that has its own kind.
INFORMATIONAL = {
    "amdgpu-culprit", "amdgpu-fault-client", "amdgpu-loaded", "confidential-guest", "intel-guc", "intel-small-bar",
    "lock-owner", "locked-down", "module-unsigned", "nouveau-init", "nvidia-loaded", "oops-place", "oops-process",
    "removal-goes-on", "pcie-bandwidth-limited", "resume", "secure-boot-on", "suspend", "switch-root",
}  # fmt: skip


def test_every_kind_of_the_kernel_log_that_is_a_fault_has_a_row() -> None:
    named = {kind for row in ROWS for kind in row.kinds}
    assert named | INFORMATIONAL == {kind for kind, _ in kinds()}
    assert not named & INFORMATIONAL


def test_every_xid_of_the_hardware_comes_first() -> None:
    hardware = [code for code in range(200) if (found := xid(code)) is not None and found.fault == "hardware"]
    rows = {code: recognise(f"NVRM: Xid (PCI:0000:3b:00): {code}, pid=7, x") for code in hardware}
    assert [code for code, row in rows.items() if row is None or row.kind != "cause"] == []
    assert len(hardware) > 20


def test_the_index_finds_what_looking_at_every_text_finds() -> None:
    lines = [
        f"{before}{text}{after}" for row in ROWS for text in row.has for before, after in (("", ""), ("E x", "y."))
    ]
    for line in lines:
        low = line.lower()
        fits = (r for r in ROWS if any(t in low for t in r.has) and (not r.pattern or re.search(r.pattern, low)))
        wanted = next(fits, None)
        assert wanted is None or recognise(line) is wanted, line


def test_no_row_installs_a_tensorflow_that_finds_no_gpu() -> None:
    """The newest release lost a library from its search path: a bound keeps pip from it."""
    every = [command for row in symptoms() for one in row.fixes for command in alternatives(one)]
    assert [command for command in every if "tensorflow[and-cuda]'" in command] == []
