"""What messages tell of processes that ended, and of ranks that waited for them."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.targets import gpus_of
from gpudoctor.tasks import cmd
from gpudoctor.tasks.placeholders import SCRIPT

ENDS = {
    9: "SIGKILL: nearly always the OOM killer, because the host ran out of memory",
    11: "SIGSEGV: a compiled library crashed",
    6: "SIGABRT: a library aborted",
    7: "SIGBUS: most often /dev/shm (shared memory) was full",
    4: "SIGILL: an instruction that this CPU does not have",
    15: "SIGTERM: it was asked to terminate",
    2: "SIGINT: it was interrupted",
}


def exit_code(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001 - all readers are called alike
    """How the first process ended, and of which rank it was."""
    text = "\n".join(lines)
    found = re.search(r"(?:exitcode\s*[:=]\s*|return code |exit status |exit code |code )(-?\d{1,3})\b", text)
    if found is None:
        return NOTHING
    code = int(found[1])
    number = -code if code < 0 else code - 128 if code > 128 else 0
    rank = re.search(r"\brank\s*:\s*(\d+)|local_rank: (\d+)", text)
    who = f"Rank {rank[1] or rank[2]}" if rank else "The process"
    if number in ENDS:
        return Extracted(details=(f"{who} was killed by {ENDS[number]}.",))
    return Extracted(details=(f"{who} exited with code {code}.",)) if code else NOTHING


def ordinal(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """That a launcher started more processes than there are GPUs, where one did."""
    if not any(word in line for line in lines for word in ("torch.distributed", "torchrun", "local_rank", "[rank")):
        return NOTHING
    count = len(gpus_of(facts)) if facts else 0
    details = (f"This machine has {count} GPU{'s' * (count != 1)}.",) if count else ()
    script = next((found[1] for line in lines if (found := re.match(r"([\w./-]+\.py) FAILED", line))), SCRIPT)
    fewer = Fix("Start as many processes as there are GPUs.", (cmd("torchrun", "--nproc-per-node=gpu", script),))
    return Extracted(details=details, fixes=(fewer,))


def nccl(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """NCCL's own last error stands below its line."""
    for number, line in enumerate(lines[:-1]):
        if "Last error:" in line:
            rest = line.partition("Last error:")[2].strip() or lines[number + 1].strip()
            return Extracted(details=(f"NCCL's last error: {rest[:300]}",)) if rest else NOTHING
    found = re.search(r"NCCL WARN (.{1,200})", " ".join(lines))
    return Extracted(details=(f"NCCL's warning: {found[1].strip()}",)) if found else NOTHING


def collective(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which operation the ranks waited in, and for how long."""
    found = re.search(r"OpType=(\w+)(?:(?!OpType=).)*?ran for (\d+) milliseconds", " ".join(lines[:2]))
    if found is None:
        return NOTHING
    return Extracted(details=(f"It waited {int(found[2]) // 1000} s in {found[1]}.",))
