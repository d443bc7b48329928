"""The lines of a kernel module's build log (DKMS's make.log, akmods's log) that name errors."""

from gpudoctor.lazy_regex import pattern

# The words of gcc and clang, make, modpost, Kbuild, the shell, rpmbuild, and NVIDIA's own checks (Kbuild, conftest.sh).
_TELLING = pattern(
    r"error:|\bError \d|\*\*\* |unrecognized|The kernel was built by|You are using|No such file or dir|not found\b"
    r"|cannot be found|GPL-incompatible|PREEMPT_RT kernel|No space left|is needed by|please install (?:lib|pahole)"
    r"|Killed|out of memory|: file (?:format )?not recognized|is not a modulo of the size"
)
_MOST_LINES = 8
_LONGEST_LINE = 300


def errors(text: str) -> tuple[str, ...]:
    """Return the first telling lines, each once, in the log's order."""
    found = (line.strip()[:_LONGEST_LINE] for line in text.splitlines() if _TELLING.search(line))
    return tuple(dict.fromkeys(found))[:_MOST_LINES]
