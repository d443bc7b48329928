"""Tests of what DKMS is asked and read for."""

from gpudoctor.child import ChildResult
from gpudoctor.facts import Dkms
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia import dkms
from gpudoctor.recorded_machine import RecordedMachine

RELEASE = "6.8.0-60-generic"
TREE = "/var/lib/dkms/nvidia/570.133.20"
LOG = f"""DKMS make.log for nvidia-570.133.20 for kernel {RELEASE} (x86_64)
make[1]: Entering directory '/usr/src/linux-headers-{RELEASE}'
warning: the compiler differs from the one used to build the kernel
  The kernel was built by: x86_64-linux-gnu-gcc-13 (Ubuntu 13.3.0) 13.3.0
  You are using:           cc (Ubuntu 11.4.0) 11.4.0
  CC [M]  nvidia/nv.o
nvidia/nv.c:12:9: error: implicit declaration of function 'strlcpy'
make[3]: *** [nvidia/nv.o] Error 1
"""


def test_no_dkms_is_none() -> None:
    assert dkms.probe(RecordedMachine(), ask=True) is None


def test_dkms_status_is_asked_only_where_wanted() -> None:
    machine = RecordedMachine(
        commands={"dkms": f"nvidia/570.133.20, {RELEASE}, x86_64: installed\nnvidia-fs/2.2: added\n"}
    )
    assert dkms.probe(machine, ask=False) == ()
    assert machine.ran == []
    entry = Dkms(module="nvidia", version="570.133.20", kernel=RELEASE, state="installed")
    assert dkms.probe(machine, ask=True) == (entry,)


def test_the_folders_tell_added_built_installed_and_broken() -> None:
    files = {f"{TREE}/source/dkms.conf": "", f"{TREE}/{RELEASE}/x86_64/module/nvidia.ko": ""}
    built = dkms.probe(RecordedMachine(files), ask=False)
    assert built == (Dkms(module="nvidia", version="570.133.20", kernel=RELEASE, state="built"),)
    links = {f"/var/lib/dkms/nvidia/kernel-{RELEASE}-x86_64": f"570.133.20/{RELEASE}/x86_64"}
    installed = dkms.probe(RecordedMachine(files, links=links), ask=False)
    assert installed == (Dkms(module="nvidia", version="570.133.20", kernel=RELEASE, state="installed"),)
    added = dkms.probe(RecordedMachine({f"{TREE}/source/dkms.conf": ""}), ask=False)
    assert added == (Dkms(module="nvidia", version="570.133.20", state="added"),)
    broken = dkms.probe(RecordedMachine(folders=[TREE]), ask=False)
    assert broken == (Dkms(module="nvidia", version="570.133.20", state="broken"),)


def test_a_failing_dkms_leaves_its_own_words() -> None:
    failed = ChildResult(argv=("dkms",), code=1, err="Error! Could not locate dkms.conf file.\n")
    answer = dkms.probe(RecordedMachine(commands={"dkms": failed}), ask=True)
    assert answer == Unknown("dkms status: Error! Could not locate dkms.conf file.")


def test_the_telling_lines_of_a_failed_build() -> None:
    entries = (Dkms(module="nvidia", version="570.133.20", state="added"),)
    lines = dkms.errors(RecordedMachine({f"{TREE}/build/make.log": LOG}), entries, RELEASE)
    assert lines == (
        "The kernel was built by: x86_64-linux-gnu-gcc-13 (Ubuntu 13.3.0) 13.3.0",
        "You are using:           cc (Ubuntu 11.4.0) 11.4.0",
        "nvidia/nv.c:12:9: error: implicit declaration of function 'strlcpy'",
        "make[3]: *** [nvidia/nv.o] Error 1",
    )


def test_a_log_of_another_kernel_or_of_an_installed_module_says_nothing() -> None:
    machine = RecordedMachine({f"{TREE}/build/make.log": LOG})
    added = (Dkms(module="nvidia", version="570.133.20", state="added"),)
    assert dkms.errors(machine, added, "6.11.0-9-generic") == ()
    well = (Dkms(module="nvidia", version="570.133.20", kernel=RELEASE, state="installed"),)
    assert dkms.errors(machine, well, RELEASE) == ()
    assert dkms.errors(machine, Unknown("x"), RELEASE) == ()


def test_the_version_that_the_source_itself_has() -> None:
    files = {f"{TREE}/source/dkms.conf": "", "/usr/src/nvidia-570.133.20/version.mk": "NVIDIA_VERSION = 570.124.04\n"}
    (entry,) = dkms.probe(RecordedMachine(files), ask=False)  # type: ignore[misc]
    assert (entry.version, entry.source) == ("570.133.20", "570.124.04")
    files["/usr/src/nvidia-570.133.20/version.mk"] = "NVIDIA_NVID_VERSION = x\n"
    assert [e.source for e in dkms.probe(RecordedMachine(files), ask=False)] == [None]  # type: ignore[union-attr]


def test_a_source_that_dkms_does_not_list() -> None:
    files = {f"/usr/src/{name}/dkms.conf": "" for name in ("nvidia-560.35.03", "nvidia-fs-2.2", "zfs-2.2.2")}
    machine = RecordedMachine({**files, "/usr/src/nvidia-550.1/nv.c": ""}, commands={"dkms": ""})
    assert dkms.unlisted(machine, ()) == ("nvidia/560.35.03",)
    assert dkms.unlisted(machine, (Dkms(module="nvidia", version="570.1", state="added"),)) == ()
    assert dkms.unlisted(machine, Unknown("dkms status: no")) == ()
    assert dkms.unlisted(RecordedMachine(files), ()) == ()  # without DKMS
