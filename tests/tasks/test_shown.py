"""Tasks as they are typed: into a POSIX shell with and without sudo, and into PowerShell."""

import shlex

import pytest

from gpudoctor.tasks import (
    Command,
    Edit,
    FileSection,
    Manual,
    Shell,
    Task,
    Variable,
    as_root,
    cmd,
    export,
    filtered,
    pipe,
    query,
    unset,
)
from gpudoctor.tasks.as_typed import in_powershell, on_windows, one_line, shown

TOML = (FileSection("[a]", ("b = 1",)), FileSection("[[c]]", ('d = "e"',)))


@pytest.mark.parametrize(
    ("task", "user", "root"),
    [
        (query("nvidia-smi", "-L"), "nvidia-smi -L", None),
        (as_root("modprobe", "nvidia"), "sudo modprobe nvidia", "modprobe nvidia"),
        (cmd("pip", "install", "jax[cuda13]>=0.7", "it's"), """pip install 'jax[cuda13]>=0.7' 'it'"'"'s'""", None),
        (cmd("rm", "-r", "~/gpu env"), "rm -r ~/'gpu env'", None),
        (cmd("x", env=(("A", "b c"),)), "A='b c' x", None),
        (cmd("x", note="Look."), "x", None),
        (filtered(query("dmesg", root=True), query("grep", "a|b")), "sudo dmesg | grep 'a|b'", "dmesg | grep 'a|b'"),
        (pipe(cmd("curl", "u"), as_root("tee", "f")), "curl u | sudo tee f", "curl u | tee f"),
        (Shell("fuser -v /dev/nvidia*", root=True), "sudo fuser -v /dev/nvidia*", "fuser -v /dev/nvidia*"),
        (export("A", "b c"), "export A='b c'", None),
        (export("A", "b", "before"), "export A=b${A:+:$A}", None),
        (export("A", "b", "after"), "export A=${A:+$A:}b", None),
        (export("PATH", "/b", "before"), "export PATH=/b:$PATH", None),
        (export("PATH", "/b", "after"), "export PATH=$PATH:/b", None),
        (unset("A"), "unset A", None),
        (Edit("/f", text="a b\n", root=True), "echo 'a b' | sudo tee /f", "echo 'a b' > /f"),
        (Edit("/f", text="a\nb\n"), "printf '%s\\n' a b > /f", None),
        (Edit("~/f", add=("a",)), "echo a >> ~/f", None),
        (Edit("/f", add=("a",), root=True), "echo a | sudo tee -a /f", "echo a >> /f"),
        (Edit("/f", gone=True, root=True), "sudo rm /f", "rm /f"),
        (
            Edit("/etc/systemd/system/u.service.d/f", text="a\n", root=True),
            "sudo mkdir -p /etc/systemd/system/u.service.d && echo a | sudo tee /etc/systemd/system/u.service.d/f",
            "mkdir -p /etc/systemd/system/u.service.d && echo a > /etc/systemd/system/u.service.d/f",
        ),
        (Edit("/etc/systemd/system/u.service", text="a\n"), "echo a > /etc/systemd/system/u.service", None),
        (
            Edit("/g", word=("G", "w=1"), root=True),
            """sudo sed -i 's/^\\(G="[^"]*\\)/\\1 w=1/' /g""",
            """sed -i 's/^\\(G="[^"]*\\)/\\1 w=1/' /g""",
        ),
        (Edit("/p.toml", sections=TOML), '# in /p.toml:\n[a]\nb = 1\n[[c]]\nd = "e"', None),
        (Manual("Turn it off."), "Turn it off.", None),
    ],
)
def test_what_is_typed(task: Task, user: str, root: str | None) -> None:
    assert shown(task) == user
    assert shown(task, sudo=False) == (root or user)


def test_a_shell_reads_the_words_that_were_meant() -> None:
    words = ("a", "b c", "d'e", '"f"', "$g", "h*", "", "#i", "~j")
    assert shlex.split(shown(Command(words))) == list(words)


def test_several_stand_behind_each_other() -> None:
    assert one_line((cmd("a"), as_root("b"))) == "a; sudo b"
    assert one_line(()) is None


@pytest.mark.parametrize(
    ("task", "windows"),
    [
        (cmd("C:/env/Scripts/python.exe", "-m", "pip"), "C:\\env\\Scripts\\python.exe -m pip"),
        (query("C:/p.exe", "-c", 'print(ones(1, device="cuda"))'), """C:\\p.exe -c "print(ones(1, device='cuda'))\""""),
        (export("CUDA_VISIBLE_DEVICES", "0"), "$env:CUDA_VISIBLE_DEVICES = '0'"),
        (
            cmd("C:/p.exe", "-c", "import torch", env=(("A", "1"),)),
            "$env:A = '1'; C:\\p.exe -c \"import torch\"",
        ),
        (Variable("UV_TORCH_BACKEND"), "Remove-Item Env:UV_TORCH_BACKEND"),
        (cmd("rm", "-r", "~/gpu-env"), "Remove-Item -Recurse ~\\gpu-env"),
        (cmd("rm", "-rf", "C:/env"), "Remove-Item -Recurse -Force C:\\env"),
        (cmd("~/gpu-env/bin/python", "-m", "pip"), "~\\gpu-env\\Scripts\\python.exe -m pip"),
        (cmd("pip", "--index-url", "https://a/whl/cu126"), "pip --index-url https://a/whl/cu126"),
        (cmd("pip", "install", "torch==2.*"), "pip install 'torch==2.*'"),
        (as_root("x"), "x"),
    ],
)
def test_powershell(task: Task, windows: str) -> None:
    assert in_powershell(task) == windows


def test_where_pythons_lie_on_windows() -> None:
    assert on_windows("C:/w/.pixi/envs/default/bin/python") == "C:\\w\\.pixi\\envs\\default\\python.exe"
