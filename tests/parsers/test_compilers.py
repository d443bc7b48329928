"""Compilers are told from their own words and from the kernel's, not from the distribution's version."""

import pytest

from gpudoctor.parsers.compilers import Compiler, compiler, kernel_compiler


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gcc (Ubuntu 12.3.0-1ubuntu1~22.04) 12.3.0\nCopyright (C) 2022\n", Compiler("gcc", "12.3.0")),
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", Compiler("gcc", "12.2.0")),
        ("gcc (GCC) 14.2.1 20250110 (Red Hat 14.2.1-7)", Compiler("gcc", "14.2.1")),
        ("gcc-13 (SUSE Linux) 13.3.1 20240807", Compiler("gcc", "13.3.1")),
        ("x86_64-linux-gnu-gcc-12 (Ubuntu 12.3.0-1ubuntu1~22.04) 12.3.0", Compiler("gcc", "12.3.0")),
        ("cc (Gentoo 13.2.1_p20240210 p14) 13.2.1 20240210", Compiler("gcc", "13.2.1")),
        ("gcc (conda-forge gcc 12.4.0-1 (patched)) 12.4.0", Compiler("gcc", "12.4.0")),
        ("g++ (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", Compiler("gcc", "11.4.0")),
        ("Ubuntu clang version 14.0.0-1ubuntu1.1\nTarget: x86_64-pc-linux-gnu", Compiler("clang", "14.0.0")),
        ("clang version 17.0.6 (Fedora 17.0.6-2.fc39)", Compiler("clang", "17.0.6")),
        ("gcc: fatal error: no input files", None),
        ("bash: gcc: command not found", None),
        ("", None),
    ],
)
def test_compiler(text: str, found: Compiler | None) -> None:
    assert compiler(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Linux version 6.8.0-40-generic (buildd@lcy02-amd64-078) (x86_64-linux-gnu-gcc-12 "
            "(Ubuntu 12.3.0-1ubuntu1~22.04) 12.3.0, GNU ld (GNU Binutils for Ubuntu) 2.38) "
            "#40~22.04.3-Ubuntu SMP PREEMPT_DYNAMIC Tue Jul 30 17:30:19 UTC 2\n",
            Compiler("gcc", "12.3.0"),
        ),
        (
            "Linux version 4.15.0-20-generic (buildd@lgw01-amd64-039) (gcc version 7.3.0 (Ubuntu 7.3.0-16ubuntu3)) "
            "#21-Ubuntu SMP Tue Apr 24 06:16:15 UTC 2018\n",
            Compiler("gcc", "7.3.0"),
        ),
        (
            "Linux version 5.14.0-427.el9.x86_64 (mockbuild@x86-05) (gcc (GCC) 11.4.1 20231218 (Red Hat 11.4.1-3), "
            "GNU ld version 2.35.2-43.el9) #1 SMP PREEMPT_DYNAMIC\n",
            Compiler("gcc", "11.4.1"),
        ),
        (
            "Linux version 6.1.0-28-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0, "
            "GNU ld (GNU Binutils for Debian) 2.40) #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1\n",
            Compiler("gcc", "12.2.0"),
        ),
        (
            "Linux version 6.12.1-cachyos (linux-cachyos@cachyos) (clang version 18.1.8, LLD 18.1.8) #1 SMP\n",
            Compiler("clang", "18.1.8"),
        ),
        (
            "Linux version 5.15.153.1-microsoft-standard-WSL2 (root@941d701f84f1) (gcc (GCC) 11.2.0, "
            "GNU ld (GNU Binutils) 2.37) #1 SMP Fri Mar 29 23:14:13 UTC 2024\n",
            Compiler("gcc", "11.2.0"),
        ),
        ("Linux version 6.1.0-gcc (gcc (x) 9.9.9@host) #1 SMP\n", None),
        ("Linux version 6.1.0 (me@host) #1 SMP\n", None),
        ("", None),
    ],
)
def test_kernel_compiler(text: str, found: Compiler | None) -> None:
    assert kernel_compiler(text) == found
