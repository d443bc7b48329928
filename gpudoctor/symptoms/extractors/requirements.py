"""What pip's messages tell of requirements that contradict each other, and of a wheel for another Python."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.by_message import PYTHON, pip
from gpudoctor.knowledge.kernels import NoVersionError
from gpudoctor.knowledge.python_rules import companion_for
from gpudoctor.parsers.metadata import normalise
from gpudoctor.queries.packages import answered, python_minor
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.tasks import cmd

# pip's words (resolution/resolvelib/factory.py): who asks for what, one to a line.
_ASKED = re.compile(r"The user requested ([\w.-]+)==(\d[\w.+]*)")
_NEEDS = re.compile(r"([\w.-]+) (\d[\w.+]*) depends on ([\w.-]+)")
_FILE = re.compile(r"-r (\S+) \(line \d+\)")
# A wheel for the stable ABI (abi3) serves later releases of Python as well.
_WHEEL = re.compile(r"([A-Za-z][\w.]*)-(\d[\w.+]*)-(?:\d\w*-)?cp(\d)(\d+)-(?!abi3)")


def pip_conflict(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001 - all readers are called alike
    """Which pin of the user's a package contradicts; of PyTorch's companions the release that belongs to it."""
    text = "\n".join(lines)
    asked = {normalise(name): number for name, number in _ASKED.findall(text)}
    needs = [(normalise(own), number, normalise(other)) for own, number, other in _NEEDS.findall(text)]
    clash = next((one for one in needs if one[2] in asked), None)
    if clash is None:
        return NOTHING
    own, number, other = clash
    meaning = (
        f"{own} {number} needs another {other} than {other}=={asked[other]}, which is required as well: pip finds no "
        "releases that fit; the GPU is not involved"
    )
    file = _FILE.search(lines[0])
    old, new, what = f"{other}=={asked[other]}", other, f"Let pip choose a release of {other} that suits all"
    if other == "torch" and own in ("torchvision", "torchaudio"):
        try:
            belongs = companion_for(own, asked[other])
        except NoVersionError:
            belongs = None
        if belongs:
            old, new = f"{own}=={number}", f"{own}{belongs}"
            what = f"Require {new}, the release for PyTorch {asked[other]}"
    if file is None:
        return Extracted(meaning=meaning, fixes=(Fix(f"{what}: in place of {old}, {new}."),), decided=True)
    tasks = (cmd("sed", "-i.bak", f"s/^{re.escape(old)}\\b.*/{new}/", file[1]), pip("-r", file[1]))
    undo = (cmd("mv", f"{file[1]}.bak", file[1]),)
    return Extracted(meaning=meaning, fixes=(Fix(f"{what}.", tasks, "reinstall-package", undo=undo),), decided=True)


def wheel_name(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """For which Python the wheel is that pip refuses, by the tags in its name (PEP 425).

    Where that is the Python which was checked, the wheel is for another system or processor.
    """
    found = _WHEEL.search(lines[0])
    if found is None:
        return NOTHING
    name, number, python = found[1].replace("_", "-"), found[2], f"{found[3]}.{found[4]}"
    checked = [python_minor(one) for one in answered(facts)]
    if python in checked:
        return NOTHING
    this = "this Python or its platform is another one"
    if len(checked) == 1 and checked[0]:
        this = f"the Python that was checked is {checked[0]}"
    meaning = f"the wheel of {name} {number} is for Python {python}, and {this}"
    own = Fix(f"Install {name} {number} for this Python, where the index has it.", (pip(f"{name}=={number}"),))
    venv = (
        pip("uv"),
        cmd(PYTHON, "-m", "uv", "venv", "--seed", "--python", python, f"{name}-env"),
        cmd("source", f"{name}-env/bin/activate"),
    )
    return Extracted(meaning=meaning, fixes=(own, Fix(f"Use Python {python}.", venv)), decided=True)
