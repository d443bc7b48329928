"""Whether the gcc that nvcc finds on PATH can compile C++: distributions have that part in a package of its own."""

import os
import re

from gpudoctor.machine import Machine

# Where gcc looks for what compiles each language: below, a directory for each target, and in it one for each version.
_PLACES = ("/usr/lib/gcc", "/usr/libexec/gcc", "/usr/lib64/gcc")


def c_alone(machine: Machine) -> str | None:
    """The path of a distribution's gcc with cc1 (C) but without cc1plus (C++); None: it has both, or is another's."""
    gcc = machine.which("gcc")
    real = machine.real(gcc) if gcc else ""
    if gcc is None or os.path.dirname(real) != "/usr/bin":
        return None
    named = re.search(r"-([0-9]{1,3})$", real)  # "x86_64-linux-gnu-gcc-12"
    folders = [
        f"{place}/{target}/{version}"
        for place in _PLACES
        for target in machine.names(place)
        if target.startswith(machine.architecture())
        for version in machine.names(f"{place}/{target}")
        if named is None or version.partition(".")[0] == named[1]
    ]
    has_c = any(machine.exists(f"{folder}/cc1") for folder in folders)
    return gcc if has_c and not any(machine.exists(f"{folder}/cc1plus") for folder in folders) else None
