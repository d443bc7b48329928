"""Tasks as they are typed into a shell: the one place in which a task becomes text, and in which sudo is written."""

import shlex
from collections.abc import Iterable

from gpudoctor.lazy_regex import pattern
from gpudoctor.tasks import Command, Edit, Manual, Pipe, Shell, Task, Variable


def shown(task: Task, sudo: bool = True) -> str:
    """One task.

    Args:
        task: the task.
        sudo: whether who types it asks sudo for root; root itself does not.
    """
    match task:
        case Command():
            return _command(task, sudo)
        case Pipe():
            return " | ".join(_command(stage, sudo) for stage in task.stages)
        case Shell():
            return _sudo(task.root and sudo) + task.line
        case Variable():
            return _variable(task)
        case Edit():
            return _edit(task, sudo)
        case Manual():
            return task.text


# A line of a program in Python: a call, an assignment with blanks (a shell takes none, Nix ends it), a block, import.
_PROGRAM = pattern(r"[\w.]+\(|\w+(\.\w+)+ = [^;]*$|\w+ = .*\([^;]*$|with .*:$|from \S+ import |import \w+$")
_FORMATS = (
    ("xml", pattern(r"\s*<")),
    ("json", pattern(r"\s*[{\"]")),
    ("nix", pattern(r"(?m)\A(?:#.*\n)*[\w.]+ = .*;$")),
    ("toml", pattern(r"(?m)\A(?:#.*\n)*\[\[?[\w.-]+\]\]?$")),
    ("yaml", pattern(r"\s*[\w.-]+:(?:\s|$)")),
    ("ini", pattern(r"\s*[\w.-]+ ?=")),
)
_OF_FILES = {"toml": "toml", "yaml": "yaml", "yml": "yaml", "json": "json", "nix": "nix"}


def language(task: Task | None, text: str) -> str:
    """The language of a task as it is typed, as Markdown and editors name it.

    Args:
        task: the task; None: it is known by its text alone, which a shell takes.
        text: what `shown` or `in_powershell` made of it.
    """
    if isinstance(task, Edit) and task.sections:
        return _OF_FILES.get(task.path.rpartition(".")[2], "ini")
    if isinstance(task, Manual) and task.where != "here":
        if task.where != "configuration":
            return "powershell" if task.where == "PowerShell" else "python"
        return next((name for name, form in _FORMATS if form.match(text)), "text")
    if (task is None or isinstance(task, Manual)) and _PROGRAM.match(text):
        return "python"
    return "powershell" if is_of_windows(task, text) else "sh"


def is_of_windows(task: Task | None, text: str) -> bool:
    """Whether a task is written as PowerShell takes it, and no other shell does."""
    if not isinstance(task, Command | Variable):
        return False
    return text == in_powershell(task) and text not in (shown(task), shown(task, sudo=False))


def typed(tasks: Iterable[Task], sudo: bool = True) -> tuple[str, ...]:
    """Several tasks, each as it is typed."""
    return tuple(shown(task, sudo) for task in tasks)


def one_line(tasks: Iterable[Task], sudo: bool = True) -> str | None:
    """Several tasks behind each other; None where there are none."""
    return "; ".join(typed(tasks, sudo)) or None


def quoted(word: str) -> str:
    """A word as the shell takes it; a leading ~/ stays the user's home."""
    if word.startswith("~/"):
        return "~/" + shlex.quote(word[2:]) if word[2:] else "~/"
    return word if word == "~" else shlex.quote(word)


def _command(one: Command, sudo: bool) -> str:
    env = "".join(f"{name}={quoted(value)} " for name, value in one.env)
    return _sudo(one.root and sudo) + env + " ".join(quoted(word) for word in one.argv)


def _sudo(wanted: bool) -> str:
    return "sudo " if wanted else ""


def _variable(one: Variable) -> str:
    if one.value is None:
        return f"unset {one.name}"
    value = quoted(one.value)
    if one.join:
        # an empty element would stand for the working directory; PATH is never empty
        there = f"${one.name}" if one.name == "PATH" else None
        if one.join == "before":
            value = f"{value}:{there}" if there else f"{value}${{{one.name}:+:${one.name}}}"
        else:
            value = f"{there}:{value}" if there else f"${{{one.name}:+${one.name}:}}{value}"
    return f"export {one.name}={value}"


# Directories that are made by those who put the first file into them.
_MADE_FIRST = pattern(
    r"(/etc/(?:systemd/system/[^/]+\.d|containers/containers\.conf\.d|k0s/containerd\.d|portage/package\.\w+))/[^/]+"
)


def _edit(one: Edit, sudo: bool) -> str:
    path = quoted(one.path)
    if one.gone:
        return f"{_sudo(one.root and sudo)}rm {path}"
    if one.word:
        variable, word = one.word
        change = rf's/^\({variable}="[^"]*\)/\1 {word}/'
        return f"{_sudo(one.root and sudo)}sed -i {shlex.quote(change)} {path}"
    if one.sections:
        return "\n".join((f"# in {one.path}:", *(section.text for section in one.sections)))
    lines = one.add or tuple((one.text or "").splitlines())
    what = f"echo {quoted(lines[0])}" if len(lines) == 1 else f"printf '%s\\n' {' '.join(quoted(n) for n in lines)}"
    if found := _MADE_FIRST.fullmatch(one.path):
        what = f"{_sudo(one.root and sudo)}mkdir -p {found[1]} && {what}"
    if one.root and sudo:
        return f"{what} | sudo tee {'-a ' if one.add else ''}{path}"
    return f"{what} {'>>' if one.add else '>'} {path}"


# -- PowerShell ----------------------------------------------------------------------------------------------

_SAFE = pattern(r"[\w@%+=:,./\\-]+")
_PATH = pattern(r"(?:[A-Za-z]:|~)/.*")


def in_powershell(task: Task) -> str:
    """One task as Windows' PowerShell takes it."""
    match task:
        case Command():
            env = "".join(f"$env:{name} = '{value}'; " for name, value in task.env)
            return env + " ".join(_word(one) for one in _windows(task.argv))
        case Variable(value=None):
            return f"Remove-Item Env:{task.name}"
        case Variable():
            return f"$env:{task.name} = '{task.value}'"
        case Edit() if task.sections:
            return shown(task).replace(f"# in {task.path}:", f"# in {on_windows(task.path)}:", 1)
        case _:
            return shown(task, sudo=False)


def on_windows(path: str) -> str:
    """A path below a drive or the home, with Windows' separators and the place of an environment's Python."""
    path = path.replace("/envs/default/bin/python", "/envs/default/python.exe")
    path = path.replace("/bin/python", "/Scripts/python.exe")
    return path.replace("/", "\\") if _PATH.fullmatch(path) else path


def _windows(argv: tuple[str, ...]) -> tuple[str, ...]:
    if argv[:1] == ("rm",):
        flags, names = {word for word in argv[1:] if word.startswith("-")}, [w for w in argv[1:] if w[:1] != "-"]
        force = ("-Force",) if any("f" in flag for flag in flags) else ()
        return ("Remove-Item", "-Recurse", *force, *(on_windows(name) for name in names))
    return tuple(on_windows(word) for word in argv)


def _word(word: str) -> str:
    """Code for `python -c` keeps no double quotes: Windows' own rules would end the word at them."""
    if _SAFE.fullmatch(word) or word.startswith("~\\"):
        return word
    if "'" in word or '"' in word:
        return '"' + word.replace('"', "'") + '"'
    return f"'{word}'" if not any(c in word for c in " ;(") else f'"{word}"'
