"""`dkms status` is read in the spellings of both DKMS 2 and 3."""

import pytest

from gpudoctor.parsers.dkms import DkmsModule, dkms_status

DIFF = "WARNING! Diff between built and installed module!"


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("nvidia/535.98: added", DkmsModule("nvidia", "535.98", None, "added")),
        ("nvidia, 418.43: added", DkmsModule("nvidia", "418.43", None, "added")),
        (
            "nvidia, 418.43, 4.20.16-200.fc29.x86_64, x86_64: installed",
            DkmsModule("nvidia", "418.43", "4.20.16-200.fc29.x86_64", "installed"),
        ),
        (
            "nvidia/550.107.02, 6.8.0-40-generic, x86_64: installed",
            DkmsModule("nvidia", "550.107.02", "6.8.0-40-generic", "installed"),
        ),
        (
            "nvidia-srv/580.159.03, 6.17.0-35-generic: built",
            DkmsModule("nvidia-srv", "580.159.03", "6.17.0-35-generic", "built"),
        ),
        (
            f"nvidia-375, 375.39, 4.4.0-62-generic, x86_64: installed ({DIFF}) ({DIFF}) ({DIFF})",
            DkmsModule("nvidia-375", "375.39", "4.4.0-62-generic", "installed", DIFF),
        ),
        (
            "nvidia/535.98, 6.1.0-28-amd64, x86_64: installed (Original modules exist) (Differences between built "
            "and installed modules)",
            DkmsModule(
                "nvidia",
                "535.98",
                "6.1.0-28-amd64",
                "installed",
                "Original modules exist; Differences between built and installed modules",
            ),
        ),
        (
            "nvidia, 470.82.01, 4.18.0-553.el8.x86_64, x86_64: installed-weak from 4.18.0-477.el8.x86_64",
            DkmsModule("nvidia", "470.82.01", "4.18.0-553.el8.x86_64", "installed-weak", "from 4.18.0-477.el8.x86_64"),
        ),
        ("nvidia/570.86.16: broken", DkmsModule("nvidia", "570.86.16", None, "broken")),
        ("Error! nvidia/570.86.16 is broken!", DkmsModule("nvidia", "570.86.16", None, "broken")),
        (
            "Error! nvidia/470.256.02: Missing the module source directory or the symbolic link pointing to it.",
            DkmsModule("nvidia", "470.256.02", None, "broken"),
        ),
        (
            "amdgpu/6.10.5-2095006.22.04, 6.8.0-40-generic, x86_64: installed (original_module exists)",
            DkmsModule("amdgpu", "6.10.5-2095006.22.04", "6.8.0-40-generic", "installed", "original_module exists"),
        ),
    ],
)
def test_spellings(line: str, module: DkmsModule) -> None:
    assert dkms_status(f"{line}\n") == (module,)


def test_order_and_other_lines() -> None:
    text = (
        "Deprecated feature: REMAKE_INITRD (/var/lib/dkms/nvidia/535.98/source/dkms.conf)\n"
        "nvidia/535.98, 6.8.0-40-generic, x86_64: installed\n"
        "\n"
        "nvidia/535.98, 6.8.0-41-generic, x86_64: built\n"
        "Error! nvidia/470.256.02 is broken!\n"
        "Manual intervention is required!\n"
        "nvidia/470.256.02: broken\n"
    )
    found = [(module.version, module.kernel, module.state) for module in dkms_status(text)]
    assert found == [
        ("535.98", "6.8.0-40-generic", "installed"),
        ("535.98", "6.8.0-41-generic", "built"),
        ("470.256.02", None, "broken"),
    ]


@pytest.mark.parametrize("text", ["", "\n", "bash: dkms: command not found\n", "/usr/sbin/dkms: line 12: error\n"])
def test_nothing(text: str) -> None:
    assert dkms_status(text) == ()
