"""What a process wrote last on standard error: the line that ended it, without the frames of our own scripts."""

from gpudoctor.lazy_regex import pattern

# Of glog and abseil ("F0000 00:00:17.1 12 x.cc:9] Check failed: ..."), TensorFlow, libstdc++, libc++, glibc, ld.so,
# Rust and CPython's faulthandler.
_FATAL = pattern(
    r"^F\d{4} |: F [\w/]+\.cc:\d+\]|Check failed:|^terminate called|^\s+what\(\):|^libc\+\+abi: |^\*\*\* stack smashing"
    r"|^(?:double free|free\(\)|malloc\(\)|realloc\(\)|munmap_chunk\(\)|corrupted )"
    r"|symbol lookup error|relocation error|Assertion .* failed|^thread '.*' panicked"
    r"|^Fatal Python error: |^Illegal instruction|^Bus error"
)
_OWN = pattern(r'^\s*File "[^"]*gpudoctor[\\/]workers[\\/][^"]*\.py", line \d+')
_FRAME = pattern(r'^\s*File "[^"]+", line \d+')
# Heads and tails of dumps, which say nothing by themselves.
_NOISE = pattern(r"^(?:Extension modules: |Thread 0x|Current thread 0x|\*\*\* Check failure stack trace|\s+@ +0x)")


def fatal(text: str) -> list[str]:
    """The lines with which a process says that it cannot go on, in their order, each once."""
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if _FATAL.search(line)))


def dying_words(text: str, most: int = 6) -> tuple[str, ...]:
    """What a process that died tells of it: its fatal lines and where it was, else the last lines that say anything.

    Args:
        text: what it wrote on standard error.
        most: lines, at most.
    """
    lines = _foreign(text)
    found = fatal("\n".join(lines))
    if not found:
        return tuple(line for line in lines if line.strip())[-most:]
    half = found[: most // 2] if len(found) <= most // 2 else [*found[: most // 2 - 1], found[-1]]
    frames = [line.strip() for line in lines if _FRAME.match(line)]
    return (*half, *frames[: most - len(half)])


def tail(text: str, most: int) -> str:
    """The last lines, and before them the fatal ones that a long dump has pushed out.

    Args:
        text: what a process wrote on standard error.
        most: how many of the last lines.
    """
    lines = text.splitlines()
    return "\n".join([*fatal("\n".join(lines[:-most])), *lines[-most:]])


def _foreign(text: str) -> list[str]:
    """The lines without those of our scripts' frames, and without what says nothing."""
    kept: list[str] = []
    ours = False
    for line in text.splitlines():
        ours = bool(_OWN.match(line)) or (ours and line.startswith("    "))  # the code under a frame of a traceback
        if not ours and not _NOISE.match(line):
            kept.append(line)
    return kept
