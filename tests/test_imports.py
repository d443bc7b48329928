"""What is loaded when: `import gpudoctor` loads nothing heavy, and nobody but a child loads a framework."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import gpudoctor

ROOT = Path(gpudoctor.__file__).parent
HEAVY = {"rich", "textual", "numpy", "torch", "tensorflow", "cupy", "jax", "psutil", "pynvml"}


def loaded(code: str) -> set[str]:
    """The top-level modules loaded after some code, in a fresh interpreter."""
    code += "\nimport sys, json; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    return set(json.loads(ended.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_of_weight() -> None:
    modules = loaded("import gpudoctor")
    assert not modules & (HEAVY | {"msgspec", "argparse", "subprocess"})


def test_a_quick_check_as_json_loads_no_face_and_no_framework() -> None:
    code = (
        "import contextlib, io, gpudoctor.cli as cli\n"
        "with contextlib.redirect_stdout(io.StringIO()): cli.main(['check', '--quick', '--json'])"
    )
    assert not loaded(code) & HEAVY


def test_no_quick_check_loads_psutil() -> None:
    code = (
        "import contextlib, io, gpudoctor.cli as cli\n"
        "with contextlib.redirect_stdout(io.StringIO()): cli.main(['check', '--quick'])"
    )
    assert "psutil" not in loaded(code)


# A quick check on a machine without a GPU. Each module takes some 0.2 ms, each child some 15: docs/measurements.md.
MOST_MODULES, MOST_CHILDREN = 300, 2


def test_a_quick_check_imports_few_modules_and_starts_few_children() -> None:
    """Counts, since they are the same however busy the machine is; raise them only for what a user gets for it."""
    code = (
        "import contextlib, io, json, sys\n"
        "from gpudoctor.spared_imports import start_fast; start_fast()\n"
        "from gpudoctor import cli\n"
        "out, children = io.StringIO(), []\n"
        "sys.addaudithook(lambda event, args: children.append(args[1]) if event == 'subprocess.Popen' else None)\n"
        "with contextlib.redirect_stdout(out): cli.main(['check', '--quick', '--json', '--python', sys.executable])\n"
        "print(json.dumps([len(sys.modules), children, json.loads(out.getvalue())['gpus']]))"
    )
    ended = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, cwd="/")
    modules, children, gpus = json.loads(ended.stdout)
    if gpus:
        pytest.skip("this machine has a GPU, whose checks are imported")
    assert modules <= MOST_MODULES
    assert len(children) <= MOST_CHILDREN, children


def test_what_few_machines_need_is_imported_there() -> None:
    code = (
        "import sys; from gpudoctor.spared_imports import start_fast; start_fast()\n"
        "import gpudoctor.probes.cluster, gpudoctor.probes.docker\n"
        "print([name for name in ('json', 'gpudoctor.probes.device_plugin') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert ended.stdout == "[]\n"


@pytest.mark.parametrize("name", gpudoctor.__all__)
def test_public_names_are_there(name: str) -> None:
    assert getattr(gpudoctor, name)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gpudoctor.nothing


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def test_the_scripts_for_other_interpreters_need_only_the_standard_library() -> None:
    own = {p.stem for p in (ROOT / "workers").glob("*.py")}
    frameworks = {"torch", "tensorflow", "cupy", "jax", "jaxlib", "onnxruntime", "pynvml", "numpy"}
    for script in (ROOT / "workers").glob("*.py"):
        tree = ast.parse(script.read_text())
        typing = {id(n) for node in ast.walk(tree) if _for_types_only(node) for n in ast.walk(node)}
        for node in (n for n in ast.walk(tree) if id(n) not in typing):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in {n.split(".")[0] for n in names}:
                assert name in sys.stdlib_module_names | own | frameworks, f"{script.name} imports {name}"


def test_no_script_for_other_interpreters_is_named_like_a_package() -> None:
    taken = {"torch", "tensorflow", "cupy", "jax", "onnxruntime", "numpy", "json", "common"} - {"common"}
    assert not {p.stem for p in (ROOT / "workers").glob("*.py")} & (taken | set(sys.stdlib_module_names))
