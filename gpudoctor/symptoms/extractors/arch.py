"""What messages tell of compute capabilities: the GPU's, and those that a program has code for."""

import re
from collections.abc import Sequence

from gpudoctor.facts import Facts
from gpudoctor.queries.capability import covers, side, sm
from gpudoctor.symptoms.extractors import NOTHING, Extracted

TRIES = {
    "newer": ("Install a newer CUDA build of PyTorch.",),
    "older": ("Install an older CUDA build of PyTorch, such as cu126, or an older release.",),
    "between": (),
}


def torch_arch(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """PyTorch's warning in its three forms: what the GPU is, and what the build was made for."""
    text = " ".join(lines)
    capability, archs = _capability(text), _archs(text)
    if capability is None:
        return NOTHING
    if not archs:
        return Extracted(details=(f"The GPU has compute capability {capability}.", *_elsewhere(capability, facts)))
    if covers(archs, capability):
        return Extracted(
            harmless=True, meaning=f"PyTorch's code for its generation runs on compute capability {capability}"
        )
    where = side(archs, capability)
    end = "not among them" if where == "between" else f"{where} than this build"
    built = f"PyTorch was built for {', '.join(archs)}: the GPU is {end}."
    details = (f"The GPU has compute capability {capability}; {built}", *_elsewhere(capability, facts))
    return Extracted(details=details, tries=TRIES[where])


def compiler_arch(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which architecture a compiler did not know."""
    found = re.search(r"(?:compute_|sm_)(\d{2,3})[a-z]?\W|(?:CC|support) (\d+\.\d)", lines[0])
    if found is None:
        return NOTHING
    digits = found[1] or found[2]
    capability = digits if "." in digits else f"{digits[:-1]}.{digits[-1]}"
    return Extracted(details=(f"It was compiled for compute capability {capability}.", *_elsewhere(capability, facts)))


def _capability(text: str) -> str | None:
    found = re.search(r"with CUDA capability sm_(\d{2,3}) ", text)
    if found:
        return f"{found[1][:-1]}.{found[1][-1]}"
    found = re.search(r"(?:cuda capability|compute capability \(CC\)) (\d+\.\d)\b", text)
    return found[1] if found else None


def _archs(text: str) -> list[str]:
    """What the build has code for: a list of names, a table of capabilities, or its least and its greatest."""
    listed = re.search(r"supports CUDA capabilities ((?:(?:sm|compute)_\w+[ ,]*)+)\.", text)
    if listed:
        return listed[1].replace(",", " ").split()
    _, table, after = text.partition("hardware CCs it supports")
    if table:
        after = re.sub(r"which supports hardware CC \S+( except \{[^}]*\})?", "", after.partition("No published")[0])
        row = re.match(r"[\s:]*((?:-? *\d{1,2}\.\d[ ,]*)+)", after)
        return [sm(one) for one in re.findall(r"\d{1,2}\.\d", row[1])] if row else []
    both = re.search(r"is\s+\((\d+\.\d)\) - \((\d+\.\d)\)", text)
    return [sm(both[1]), sm(both[2])] if both else []


def _elsewhere(capability: str, facts: Facts | None) -> tuple[str, ...]:
    """A remark where no GPU of the machine is of this kind."""
    gpus = facts.gpus if facts and isinstance(facts.gpus, tuple) else ()
    there = {g.capability for g in gpus if isinstance(g.capability, str)}
    if not there or capability in there:
        return ()
    return (f"No GPU of this machine has compute capability {capability}: the log is from another machine.",)
