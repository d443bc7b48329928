"""The installed kernels next to the running one."""

from gpudoctor.maybe import Unknown
from tests.probes.test_host import host


def test_other_kernels_that_can_be_booted() -> None:
    names = ("6.17.12-300.fc43", "6.9.1-200.fc40", "5.14.0-9.el9")
    files: dict[str, str | bytes] = {f"/lib/modules/{name}/modules.dep": "" for name in names}
    files["/lib/modules/6.1.0-1/updates/x.ko"] = ""
    assert host(files).kernel.others == ("5.14.0-9.el9", "6.9.1-200.fc40", "6.17.12-300.fc43")
    assert isinstance(host({"/.dockerenv": ""}).kernel.others, Unknown)


def test_a_kernel_whose_image_is_gone_cannot_be_booted() -> None:
    names = ("6.1.0-40-amd64", "6.1.0-50-amd64", "6.17.12-300.fc43")
    files: dict[str, str | bytes] = {f"/lib/modules/{name}/modules.dep": "" for name in names}
    files |= {"/boot/vmlinuz-6.1.0-50-amd64": "", "/lib/modules/6.17.12-300.fc43/vmlinuz": ""}
    assert host(files).kernel.others == ("6.1.0-50-amd64", "6.17.12-300.fc43")
