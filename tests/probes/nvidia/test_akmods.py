"""Tests of what is read of akmods's failed builds, and of an image's certificates."""

from gpudoctor.probes.nvidia import akmods
from gpudoctor.recorded_machine import RecordedMachine

RELEASE = "6.18.8-200.fc43.x86_64"
CACHE = "/var/cache/akmods/nvidia"
LOG = """2026/02/11 akmods: Building RPM using the command '/usr/sbin/akmodsbuild'
error: Failed build dependencies:
\tgcc-c++ is needed by nvidia-kmod-3:590.48.01-1.fc43.x86_64
"""


def test_the_newest_failed_build_for_the_running_kernel_tells_why() -> None:
    files = {
        f"{CACHE}/590.48.01-1-for-{RELEASE}.failed.log": LOG,
        f"{CACHE}/580.95.05-1-for-{RELEASE}.failed.log": "error: old",
        f"{CACHE}/590.48.01-1-for-6.18.7-200.fc43.x86_64.failed.log": "error: other kernel",
    }
    log, lines = akmods.errors(RecordedMachine(files), RELEASE)
    assert log == f"{CACHE}/590.48.01-1-for-{RELEASE}.failed.log"
    assert lines == (
        "error: Failed build dependencies:",
        "gcc-c++ is needed by nvidia-kmod-3:590.48.01-1.fc43.x86_64",
    )
    assert akmods.errors(RecordedMachine(files), "6.19.0") == (None, ())


def test_a_log_that_nobody_may_read_says_nothing() -> None:
    path = f"{CACHE}/590.48.01-1-for-{RELEASE}.failed.log"
    assert akmods.errors(RecordedMachine({path: LOG}, errors={path: "EACCES"}), RELEASE) == (None, ())


def test_certificates_count_only_where_the_system_is_an_image() -> None:
    key = {"/etc/pki/akmods/certs/image.der": "x", "/etc/pki/akmods/certs/README": "x"}
    assert akmods.image_keys(RecordedMachine(key)) is None
    image = RecordedMachine(key | {"/run/ostree-booted": ""})
    assert akmods.image_keys(image) == ("/etc/pki/akmods/certs/image.der",)
    assert akmods.image_keys(RecordedMachine({"/run/ostree-booted": ""})) == ()
