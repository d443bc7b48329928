"""Questions about compiled extensions of PyTorch, answered from facts alone."""

from gpudoctor.facts import Extension, Framework, Python
from gpudoctor.judge import Fix
from gpudoctor.remedies.python import install, lasting
from gpudoctor.software import packages_of, release
from gpudoctor.subjects import OnPython


def unfit(python: Python) -> tuple[Extension, ...]:
    """The extensions that lack symbols of PyTorch, or the CUDA run time of another major: they cannot be loaded."""
    return tuple(e for e in python.extensions if e.unresolved or any(n.startswith("libcudart") for n in e.missing))


def abi(symbols: tuple[str, ...]) -> str | None:
    """Which C++ ABI of strings the symbols speak of: "old" (pre-C++11), "new" (C++11); None: they name no string.

    GCC mangles the old std::string as Ss, and the new one with the tag cxx11:
    https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html
    """
    if any("__cxx1112basic_string" in s or "B5cxx11" in s for s in symbols):
        return "new"
    return "old" if any(s.endswith(("Ss", "SsE")) or "ESs" in s or "RKSs" in s for s in symbols) else None


def pin(python: Python, name: str) -> str | None:
    """The version of torch that a package requires exactly: "2.5.1"; None where it takes several."""
    package = next((p for p in packages_of(python) if p.name == name), None)
    for line in package.requires if package else ():
        wanted = line.partition(";")[0].replace(" ", "").strip("()")
        if wanted.startswith("torch==") and "extra" not in line:
            return wanted.removeprefix("torch==").partition(",")[0]
    return None


def rebuild(on: OnPython, name: str, version: str, torch: Framework | None) -> tuple[Fix, ...]:
    """Bring an extension and PyTorch together: the extension anew, or the PyTorch that it was built for."""
    wanted, fixes = pin(on.python, name), []
    if wanted:
        says = f"Install the PyTorch that {name} {version} was built for, or let a newer {name} choose its own."
        commands = (install(on.python, f"torch=={wanted}", f"{name}=={release(version)}", force=True),)
        fixes.append(Fix(f"{says}{lasting(on.facts)}", commands, "reinstall-package"))
        newer = install(on.python, name, upgrade=True)
        fixes.append(
            Fix(f"Install the newest {name}, with the PyTorch that it requires.", (newer,), "reinstall-package")
        )
        return tuple(fixes)
    number = release(str(torch.version)) if torch and isinstance(torch.version, str) else "the installed one"
    says = (
        f"Reinstall {name} so that it is compiled for PyTorch {number}: from its releases page take the wheel that "
        "names this PyTorch, CUDA, Python and C++ ABI (cxx11abiTRUE or cxx11abiFALSE), or build it here."
    )
    options = ("--no-build-isolation", "--no-cache-dir", f"--no-binary {name}")
    command = install(on.python, f"{name}=={release(version)}", force=True, no_deps=True, options=options)
    return (Fix(f"{says}{lasting(on.facts)}", (command,), "reinstall-package"),)
