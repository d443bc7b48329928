"""Shadows, remnants and overlaps."""

import pytest

from gpudoctor.facts import FileMix, FileOverlap, Overwritten, Package, Remnant, Shadow
from gpudoctor.probes.python.conflicts import mixed, offer, overlaps, overwritten, shadows
from gpudoctor.probes.python.leftovers import remnants
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution, PathEntry, entries
from gpudoctor.recorded_machine import RecordedMachine

SITE = "/env/lib/python3.11/site-packages"
USER = "/home/me/.local/lib/python3.11/site-packages"


def host(*files: str) -> RecordedMachine:
    return RecordedMachine(dict.fromkeys(files, ""))


def folders(machine: RecordedMachine, *path: str, python_path: str = "") -> list[PathEntry]:
    return entries(machine, path, python_path, USER, [SITE])


def package(name: str, version: str = "1.0", folder: str = SITE, files: int | None = 5) -> Package:
    return Package(name=name, version=version, directory=folder, files=files)


def claim(name: str, *claims: str, folder: str = SITE, files: int | None = 5) -> FoundDistribution:
    return FoundDistribution(package(name, folder=folder, files=files), f"{folder}/{name}.dist-info", claims)


@pytest.mark.parametrize(
    ("files", "wins"),
    [
        (("torch/__init__.py", "torch.py"), "torch"),
        (("torch/__init__.cpython-311-x86_64-linux-gnu.so",), "torch"),
        (("torch/__init__.pyc",), "torch"),
        (("torch/lib/x.so", "torch.py"), "torch.py"),
        (("torch.py", "torch.cpython-311-x86_64-linux-gnu.so"), "torch.cpython-311-x86_64-linux-gnu.so"),
        (("torch.pyc", "torch.py"), "torch.py"),
        (("torch/lib/x.so",), None),
        (("torch.txt", "torch.py.bak", "torchvision.py", "torch.old.py"), None),
        (("torch.py/x",), None),
    ],
)
def test_an_entry_offers_what_the_finder_would_take(files: tuple[str, ...], wins: str | None) -> None:
    machine = host(*(f"{SITE}/{file}" for file in files))
    (entry,) = folders(machine, SITE)
    assert offer(machine, entry, "torch", DirectoryNames(machine)) == (f"{SITE}/{wins}" if wins else None)


def test_a_file_on_pythonpath_shadows_the_package() -> None:
    machine = host("/lab3/torch.py", f"{SITE}/torch/__init__.py", f"{SITE}/cupy/__init__.py")
    found = shadows(
        machine, folders(machine, "/lab3", SITE, python_path="/lab3"), [package("torch")], DirectoryNames(machine)
    )
    expected = Shadow(module="torch", wins="/lab3/torch.py", loses=(f"{SITE}/torch",), origin="PYTHONPATH")
    assert found == (expected,)


def test_the_user_site_shadows_a_conda_environment_and_tells_its_version() -> None:
    machine = host(f"{USER}/torch/__init__.py", f"{SITE}/torch/__init__.py")
    packages = [package("torch", "2.0.1", USER), package("torch", "2.8.0")]
    (shadow,) = shadows(machine, folders(machine, USER, SITE), packages, DirectoryNames(machine))
    assert (shadow.version, shadow.origin, shadow.loses) == ("2.0.1", "user site", (f"{SITE}/torch",))


def test_one_package_behind_two_links_and_frameworks_side_by_side_are_no_shadow() -> None:
    machine = RecordedMachine(
        {f"{SITE}/torch/__init__.py": "", f"{SITE}/tensorflow/__init__.py": ""}, links={"/pp/torch": f"{SITE}/torch"}
    )
    assert shadows(machine, folders(machine, "/pp", SITE, python_path="/pp"), [], DirectoryNames(machine)) == ()


def test_a_folder_without_init_shadows_nothing() -> None:
    machine = host("/project/torch/Dockerfile", f"{SITE}/torch/__init__.py")
    known = folders(machine, "/project", SITE, python_path="/project")
    assert shadows(machine, known, [], DirectoryNames(machine)) == ()
    assert remnants(machine, known, [], DirectoryNames(machine)) == ()


@pytest.mark.parametrize(
    ("reported", "why"), [((), "no __init__.py and no metadata"), ((claim("torch"),), "no __init__.py")]
)
def test_a_hollow_folder_is_a_remnant(reported: tuple[FoundDistribution, ...], why: str) -> None:
    machine = host(f"{SITE}/torch/lib/libtorch_cpu.so")
    found = remnants(machine, folders(machine, SITE), reported, DirectoryNames(machine))
    assert found == (Remnant(module="torch", path=f"{SITE}/torch", reason=why),)


def test_a_folder_that_another_package_brings_without_init_is_no_remnant() -> None:
    """sgl-kernel brings flash_attn/cute, and no flash_attn/__init__.py."""
    own = claim("quack-kernels")
    record = f"{own.place}/RECORD"
    files = {
        f"{SITE}/flash_attn/cute/interface.py": "",
        record: "flash_attn/cute/interface.py,,\n",
    }
    machine = RecordedMachine(files)
    assert remnants(machine, folders(machine, SITE), (own,), DirectoryNames(machine)) == ()
    broken = RecordedMachine(files | {record: "flash_attn/__init__.py,,\nflash_attn/cute/interface.py,,\n"})
    assert [r.module for r in remnants(broken, folders(broken, SITE), (own,), DirectoryNames(broken))] == ["flash_attn"]


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("~orch", "torch"),
        ("~-rch", "torch"),
        ("~orch-2.0.1.dist-info", "torch"),
        ("~vidia", "nvidia"),
        ("~umpy", "numpy"),
        ("~orchvision", "torchvision"),
        ("~equests", None),
        ("~", None),
        ("~rch", None),
    ],
)
def test_what_pip_left_half_deleted_is_a_remnant(name: str, module: str | None) -> None:
    machine = host(f"{SITE}/{name}/x.py")
    found = remnants(machine, folders(machine, SITE), [], DirectoryNames(machine))
    assert [(r.module, r.reason) for r in found] == ([(module, name)] if module else [])


def test_metadata_without_its_module_is_a_remnant_of_a_framework() -> None:
    machine = host(f"{SITE}/keras/__init__.py")
    found = [claim("tensorflow-gpu"), claim("numpy"), claim("requests")]
    (remnant,) = remnants(machine, folders(machine, SITE), found, DirectoryNames(machine))
    assert (remnant.module, remnant.path, remnant.reason) == (
        "tensorflow",
        f"{SITE}/tensorflow-gpu.dist-info",
        "no module",
    )
    (remnant,) = remnants(
        machine, folders(machine, SITE), [claim("numpy", "numpy/__init__.py")], DirectoryNames(machine)
    )
    assert remnant.module == "numpy"


def test_a_placeholder_beside_the_real_package_is_harmless() -> None:
    machine = host(f"{SITE}/tensorflow/__init__.py")
    found = [claim("tensorflow"), claim("tensorflow-gpu")]
    assert remnants(machine, folders(machine, SITE), found, DirectoryNames(machine)) == ()


def test_a_development_checkout_lacks_no_module() -> None:
    place = f"{SITE}/torch.dist-info"
    machine = RecordedMachine({f"{place}/direct_url.json": '{"dir_info": {"editable": true}, "url": "file:///src"}'})
    assert remnants(machine, folders(machine, SITE), [claim("torch")], DirectoryNames(machine)) == ()
    machine = host("/src/pytorch/torch/__init__.py", f"{place}/METADATA")
    assert remnants(machine, folders(machine, SITE, "/src/pytorch"), [claim("torch")], DirectoryNames(machine)) == ()


def wheel(name: str, record: str = "", requires: tuple[str, ...] = ()) -> dict[str, str]:
    lines = "".join(f"Requires-Dist: {line}\n" for line in requires)
    place = f"{SITE}/{name}.dist-info"
    return {f"{place}/METADATA": f"Name: {name}\n{lines}\nRequires-Dist: torch\n", f"{place}/RECORD": record}


CV2 = "cv2/__init__.py,sha256=x,10\ncv2/cv2.abi3.so,sha256=x,10\n"
YOLO = wheel("ultralytics", requires=("torch>=1.8", "opencv-python>=4.6"))


@pytest.mark.parametrize(
    ("files", "names", "found"),
    [
        (wheel("opencv-python", CV2), ("opencv-python",), ("opencv-python", "no module", ())),
        (
            wheel("opencv-python-headless", CV2) | {f"{SITE}/cv2/qt/fonts/x.ttf": ""} | YOLO,
            ("opencv-python-headless", "ultralytics"),
            ("opencv-python-headless", "no __init__.py", ("ultralytics",)),
        ),
        (  # the fullest of those that are left
            wheel("opencv-python-headless", CV2) | wheel("opencv-contrib-python", CV2),
            ("opencv-python-headless", "opencv-contrib-python"),
            ("opencv-contrib-python", "no module", ()),
        ),
        (
            wheel("opencv-python", CV2)
            | wheel("imager", requires=("opencv-python",))
            | wheel("trainer", requires=("torch", "opencv-python; extra == 'video'")),
            ("opencv-python", "imager", "trainer"),
            ("opencv-python", "no module", ()),
        ),
        (wheel("opencv-python", CV2) | {f"{SITE}/cv2/__init__.py": ""}, ("opencv-python",), None),
        (wheel("opencv-python", CV2) | {f"{SITE}/cv2.cpython-311-x86_64-linux-gnu.so": ""}, ("opencv-python",), None),
        (wheel("opencv-python"), ("opencv-python",), None),  # conda's metadata has no files of its own
        (  # faiss-cpu was uninstalled
            wheel("faiss-gpu-cu12", "faiss/__init__.py,sha256=x,10\n") | {f"{SITE}/faiss/python/x.txt": ""},
            ("faiss-gpu-cu12",),
            ("faiss-gpu-cu12", "no __init__.py", ()),
        ),
        ({f"{SITE}/cv2/qt/fonts/x.ttf": ""}, (), None),  # nobody says that it is installed
    ],
)
def test_a_module_that_went_with_another_distribution(
    files: dict[str, str], names: tuple[str, ...], found: tuple[str, str, tuple[str, ...]] | None
) -> None:
    machine = RecordedMachine(files)
    left = remnants(machine, folders(machine, SITE), [claim(name) for name in names], DirectoryNames(machine))
    assert [(r.package, r.reason, r.needed_by) for r in left] == ([found] if found else [])
    assert {r.module for r in left} <= {"cv2", "faiss"}


def test_two_wheels_own_one_library() -> None:
    library = "nvidia/nccl/lib/libnccl.so.2"
    found = [
        claim("nvidia-nccl-cu12", library),
        claim("nvidia-nccl-cu13", library),
        claim("nvidia-cublas-cu12", "nvidia/cublas/lib/libcublas.so.12"),
        claim("nvidia-nccl-cu11", library, folder=USER),
    ]
    assert overlaps(found) == (FileOverlap(packages=("nvidia-nccl-cu12", "nvidia-nccl-cu13"), files=(library,)),)


def test_a_family_without_record_overlaps_by_its_folder() -> None:
    found = [claim("onnxruntime", files=None), claim("onnxruntime-gpu", "onnxruntime/__init__.py")]
    assert overlaps(found) == (FileOverlap(packages=("onnxruntime", "onnxruntime-gpu"), files=("onnxruntime/",)),)
    assert overlaps([claim("tensorflow", "tensorflow/__init__.py"), claim("tensorflow-gpu")]) == ()


BASE, CU13 = "nvidia-cutlass-dsl-libs-base", "nvidia-cutlass-dsl-libs-cu13"
OPS, LIBRARY, README = "cutlass/_gpu_ops_gen.py", "cutlass/_cutlass_ir.so", "cutlass/README"


def two_wheels(ops: int, library: int, *, folder: str = SITE) -> tuple[FileMix, ...]:
    """What is found where both wheels are installed, and these sizes are there of what differs between them."""
    sizes = {BASE: {OPS: 10, LIBRARY: 100, README: 5}, CU13: {OPS: 12, LIBRARY: 120, README: 5}}
    found = [claim(BASE), claim(CU13, folder=folder)]
    files = {f"{SITE}/{OPS}": "x" * ops, f"{SITE}/{LIBRARY}": "x" * library, f"{SITE}/{README}": "x" * 5}
    records = {
        f"{each.place}/RECORD": "".join(f"{path},sha256=0,{n}\n" for path, n in sizes[each.package.name].items())
        for each in found
    }
    return tuple(mixed(RecordedMachine(files | records), found))


def test_files_of_two_wheels_are_mixed() -> None:
    assert two_wheels(12, 100) == (FileMix(packages=(BASE, CU13), files=(LIBRARY, OPS)),)
    assert two_wheels(10, 120) == (FileMix(packages=(BASE, CU13), files=(OPS, LIBRARY)),)
    assert two_wheels(10, 100) == two_wheels(12, 120) == ()  # one of them was written last as a whole
    assert two_wheels(11, 120) == ()  # a file that somebody changed is of neither
    assert two_wheels(12, 100, folder=USER) == ()


CV2 = "cv2/cv2.abi3.so"
CONTRIB, PLAIN = "opencv-contrib-python", "opencv-python-headless"


def opencv(size: int, *names: str) -> tuple[Overwritten, ...]:
    """What is found where these distributions are installed, and their common library has this size."""
    found = [claim(name) for name in names]
    sizes = {CONTRIB: 90, f"{CONTRIB}-headless": 80, PLAIN: 50}
    records = {f"{each.place}/RECORD": f"{CV2},sha256=0,{sizes[each.package.name]}\n" for each in found}
    return tuple(overwritten(RecordedMachine(records | {f"{SITE}/{CV2}": "x" * size}), found))


def test_the_smaller_build_has_overwritten_the_fuller_one() -> None:
    assert opencv(50, CONTRIB, PLAIN) == (Overwritten(package=CONTRIB, by=PLAIN, file=CV2),)
    assert opencv(90, CONTRIB, PLAIN) == ()
    assert opencv(80, CONTRIB, f"{CONTRIB}-headless", PLAIN) == (), "one with all modules is there"
    assert opencv(50, PLAIN) == opencv(80, CONTRIB, f"{CONTRIB}-headless") == ()
    assert opencv(51, CONTRIB, PLAIN) == (), "somebody's own build"


def portion(*files: str, record: str = "", folder: str = USER, owner: str = "flash-attn-4") -> tuple[Shadow, ...]:
    """What is hidden where flash_attn is a package in the environment, and `files` are in another directory."""
    place = f"{folder}/{owner.replace('-', '_')}-4.0.dist-info"
    texts = dict.fromkeys([f"{SITE}/flash_attn/__init__.py", *(f"{folder}/{file}" for file in files)], "")
    machine = RecordedMachine(texts | {f"{place}/RECORD": record})
    packages = [package("flash-attn"), package(owner, "4.0", folder)]
    return shadows(machine, folders(machine, folder, SITE), packages, DirectoryNames(machine))


CUTE = ("flash_attn/cute/__init__.py", "flash_attn/cute/interface.py")
HIDDEN = Shadow(
    module="flash_attn",
    wins=f"{SITE}/flash_attn",
    loses=(f"{USER}/flash_attn/cute",),
    origin="namespace",
    portion_of="flash-attn-4",
)


@pytest.mark.parametrize(
    ("files", "changes", "found"),
    [
        (CUTE, {"record": "flash_attn/cute/__init__.py,,\n"}, (HIDDEN,)),  # though it comes first on sys.path
        (CUTE, {"record": ""}, ()),  # nobody's
        (CUTE, {"record": "flash_attn/cute/__init__.py,,\n", "owner": "quack-kernels"}, ()),
        (CUTE, {"record": "flash_attn/cute/__init__.py,,\n", "folder": SITE}, ()),  # one directory: the files merge
        (("flash_attn/__pycache__/x.pyc", "flash_attn/data.json"), {"record": "flash_attn/data.json,,\n"}, ()),
    ],
)
def test_a_regular_package_hides_a_portion_of_a_namespace(
    files: tuple[str, ...], changes: dict[str, str], found: tuple[Shadow, ...]
) -> None:
    assert portion(*files, **changes) == found


def test_two_portions_of_a_namespace_hide_nothing() -> None:
    machine = host(f"{USER}/flash_attn/cute/__init__.py", f"{SITE}/flash_attn/ops/__init__.py")
    assert shadows(machine, folders(machine, USER, SITE), [package("flash-attn-4")], DirectoryNames(machine)) == ()
