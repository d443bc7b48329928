"""What is wrong with a task, whoever made it: words that a shell would read otherwise, blanks that nobody declared."""

import functools
import re
import shlex
from collections.abc import Iterator

from gpudoctor.check_engine import Fix
from gpudoctor.knowledge.symptoms import symptoms
from gpudoctor.tasks import (
    Command,
    Edit,
    Manual,
    Pipe,
    Placeholder,
    Shell,
    Task,
    Variable,
    placeholders,
    placeholders_of,
)
from gpudoctor.tasks.as_typed import language, shown

# Programs that fixes run, by the name under which a shell finds them.
PROGRAMS = frozenset(
    """
    SUSEConnect akmods amd-smi apiclient apptainer apt apt-config apt-get apt-mark arch aws awk az boltctl brew bsub
    cat cc chmod clinfo compute-sanitizer conda cp curl dcgmi devmgmt.msc df distrobox dkms dmesg dnf docker dpkg
    dracut du echo enroot env envycontrol flatpak free fuser fwupdmgr getfacl gpg gpudoctor grep grub-mkconfig
    grub-reboot grub2-mkconfig grubby head id install ipmitool journalctl kill kmodgenca kubectl ldconfig ln ls lsmod
    lspci lxc mkdir mkinitcpio mknod modinfo modprobe mokutil mount mv nano nixos-rebuild notepad.exe nproc numactl nvcc
    nvidia-bug-report.sh nvidia-ctk nvidia-cuda-mps-control nvidia-imex-ctl nvidia-modprobe nvidia-settings
    nvidia-smi nvidia-uninstall optimus-manager optirun pacman pct pip pixi podman poetry poweroff prime-select ps
    py py-spy python python3 qsub reboot rm rmmod rocminfo rpm-ostree runsc sbatch sed service setpci setsebool sh snap
    softwareupdate sort srun sudoedit supergfxctl sycl-ls sysctl system76-power system_profiler systemctl
    systemd-cgls systemd-nspawn tail taskset tee timeout toolbox udevadm uname update-alternatives update-grub
    update-initramfs update-secureboot-policy uptime usermod gpasswd uv wc winget wsl wsl.exe xargs yay yum zypper
    ulimit
    """.split()  # noqa: SIM905
)
# Programs whose words are programs of another language, or titles of a menu.
_CODE = ("awk", "sh", "sed", "python", "grep", "cmd", "grub-reboot")
# Programs that change something whatever their words are.
_CHANGES = frozenset(
    ("rm", "mv", "cp", "ln", "tee", "modprobe", "rmmod", "chmod", "kill", "reboot", "poweroff", "mount")
)
# Words in capitals that are no blanks: what programs print or take.
_WORDS = frozenset("ACSCtl BAR ECC NVRM POWER PERFORMANCE ROW_REMAPPER SPX CPX PCI_BUS_ID PID INDEX".split())  # noqa: SIM905
_DECLARED = {one.name: one for one in vars(placeholders).values() if isinstance(one, Placeholder)}


def faults(fix: Fix) -> Iterator[str]:
    """All that is wrong with a fix."""
    for task in (*fix.tasks, *fix.undo, *((fix.verify,) if fix.verify else ())):
        text = shown(task)
        faults_of = [*_faults(task), *(["a remark that zsh takes for words"] if _is_remarked(task, text) else [])]
        for fault in faults_of:
            yield f"{fault}: {text}"


def _is_remarked(task: Task, text: str) -> bool:
    """Whether what is typed into a shell holds a comment; one at a terminal may know none."""
    return language(task, text) == "sh" and shlex.split(text) != shlex.split(text, comments=True)


def _faults(task: Task) -> Iterator[str]:
    match task:
        case Command():
            yield from _of_command(task)
        case Pipe():
            yield from (fault for stage in task.stages for fault in _of_command(stage))
            if len(task.stages) < 2:
                yield "a pipe of one command"
        case Shell():
            yield from _of_shell(task)
        case Edit():
            if not task.path.startswith(("/", "~/")):
                yield "a file of no known place"
            if sum((task.text is not None, bool(task.add), bool(task.sections), bool(task.word), task.gone)) != 1:
                yield "an edit that says nothing, or two things"
        case Variable():
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", task.name):
                yield "a name that no variable can have"
        case Manual():
            if re.search(r"\bsudo\b", task.text) and task.text not in _of_rows():
                yield "sudo is written by who renders"
    declared = {blank.name for blank in placeholders_of(task)}
    yield from (f"{name} does not stand in it" for name in declared if name not in shown(task))


@functools.cache
def _of_rows() -> frozenset[str]:
    """The commands of messages' rows, which are written with sudo; `fixes/row_steps.py` takes it away from root."""
    return frozenset(
        line
        for row in symptoms()
        for fix in row.fixes
        for command in fix.commands
        for line in ([command] if isinstance(command, str) else command.values())
    )


def _of_command(command: Command) -> Iterator[str]:
    program, *words = command.argv or ("",)
    name = program.rpartition("/")[2]
    if name not in PROGRAMS and not re.fullmatch(r"python[\d.]*(\.exe)?|nvidia-smi", name) and "/" not in program:
        yield f"{program!r} is no program that is known"
    if "sudo" in command.argv:
        yield "sudo is written by who renders"
    if command.lookup and name in _CHANGES:
        yield f"{name} does not only look"
    if shlex.split(shown(command).partition("  # ")[0])[-1:] != [command.argv[-1]]:
        yield "the shell reads its last word otherwise"
    declared = {blank.name for blank in command.placeholders}
    for word in words:
        if "\n" in word:
            yield "a word of two lines"
        if re.fullmatch(r"[|&;<>]+|\d?>.*", word):
            yield f"{word!r} is a shell's operator"
        if not name.startswith(_CODE) and re.search(r"\$[({A-Z]|`", word):
            yield f"{word!r} wants a shell to fill it in"
        if (
            not name.startswith(_CODE)
            and re.search(r" [a-z-]", word)
            and "-c" not in words
            and "/" not in word
            and "=" not in word
        ):
            yield f"{word!r} may be several words"
        yield from (f"{one} is not declared" for one in _blanks(word) if one not in declared and name != "grep")


def _blanks(word: str) -> Iterator[str]:
    """Words of capitals, and dots, that somebody has to fill in."""
    if word == "..." or (re.fullmatch(r"[A-Z][A-Z_]{2,}", word) and word not in _WORDS):
        yield word
    if not word.startswith("custom-columns="):
        yield from (
            name
            for name in _DECLARED
            if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", word) and name not in _WORDS
        )


def _of_shell(task: Shell) -> Iterator[str]:
    if re.search(r"\bsudo\b", task.line):
        yield "sudo is written by who renders"
    marks = set(shlex.shlex(task.line, posix=True, punctuation_chars="|&;<>"))
    if task.root and marks & {"|", "||", "&", "&&", ";", "<", ">", ">>"}:
        yield "root for the first command alone"
    if not re.search(r"[*?\[$`~;&|<>]|^ulimit ", task.line):
        yield "no shell is needed for it"
    declared = {blank.name for blank in task.placeholders}
    found = {word for word in shlex.split(task.line) if word == "..." or word in _DECLARED}
    yield from (f"{one} is not declared" for one in found - declared)
