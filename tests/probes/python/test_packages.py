"""Distributions on sys.path."""

from pathlib import Path

from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution, PathEntry, entries, find
from gpudoctor.recorded_machine import RecordedMachine
from tests.parsers.elves import library
from tests.probes.environments import distribution, machine

SITE = "/env/lib/python3.11/site-packages"


def found(site: Path) -> list[FoundDistribution]:
    here = machine()
    return find(here, entries(here, [str(site)], "", None, [str(site)]), DirectoryNames(here))


def test_a_package_that_matters_is_read_and_another_only_named(tmp_path: Path) -> None:
    files = ("torch/__init__.py", "torch/lib/libc10.so", "torch/lib/libgomp.so.1", "torch/nn/__init__.py")
    distribution(tmp_path, "torch", "2.5.1+cu124", files, ("numpy", "triton==3.1.0; sys_platform == 'linux'"), "uv")
    (distribution(tmp_path, "Jinja2", "3.1.4", requires=("MarkupSafe",)) / "METADATA").unlink()
    jinja, torch = found(tmp_path)
    assert (jinja.package.name, jinja.package.version, jinja.package.requires) == ("jinja2", "3.1.4", ())
    assert jinja.package.files is None
    assert torch.package.version == "2.5.1+cu124"
    assert torch.package.installer == "uv"
    assert torch.package.requires == ("numpy", "triton==3.1.0; sys_platform == 'linux'")
    assert torch.package.files == 5
    assert torch.package.missing == ()
    assert torch.package.libraries == ("libc10.so", "libgomp.so.1")
    assert torch.claims == ("torch/__init__.py", "torch/lib/libc10.so", "torch/lib/libgomp.so.1")


def test_files_of_record_that_are_gone_are_named(tmp_path: Path) -> None:
    gone = ("torch/__init__.py", "torch/lib/libtorch_cuda.so", "torch/lib/x.h", "../../../bin/x.so", "torch/a.py")
    distribution(tmp_path, "torch", "2.5.1", ("torch/lib/libc10.so",), gone=gone)
    assert found(tmp_path)[0].package.missing == ("torch/__init__.py", "torch/lib/libtorch_cuda.so")


def test_a_library_that_ends_before_its_segments_is_cut(tmp_path: Path) -> None:
    whole = library("libtorch_cuda.so", defines=("x",))
    contents = {"torch/lib/libtorch_cuda.so": whole[:-40], "torch/lib/libempty.so": b"", "torch/lib/libc10.so": whole}
    place = distribution(tmp_path, "torch", "2.7.1", tuple(contents))
    for path, content in contents.items():
        (tmp_path / path).write_bytes(content)
    # libc10.so is shorter than RECORD says as well: it was stripped, and all that is loaded is there
    rows = [f"{path},sha256=abc,{len(whole) + (path.endswith('c10.so'))}" for path in contents]
    (place / "RECORD").write_text("\n".join(rows))
    assert found(tmp_path)[0].package.cut == ("torch/lib/libtorch_cuda.so", "torch/lib/libempty.so")


def test_the_record_of_a_build(tmp_path: Path) -> None:
    distribution(tmp_path, "xformers", "0.0.35", ("xformers/__init__.py",))
    record = tmp_path / "xformers/cpp_lib.json"
    for text, expected in (
        ('{"version": {"cuda": 1208, "torch": "2.10.0+cu128", "python": "3.11.9"}}', "2.10.0+cu128"),
        ('{"version": {"torch": null}}', None),
        ("[]", None),
        ("{", None),
    ):
        record.write_text(text)
        assert found(tmp_path)[0].package.built_with == expected


def test_the_folder_that_many_share_counts_neither_as_missing_nor_as_claimed(tmp_path: Path) -> None:
    distribution(
        tmp_path, "nvidia-nccl-cu12", "2.21.5", ("nvidia/nccl/lib/libnccl.so.2",), gone=("nvidia/__init__.py",)
    )
    assert found(tmp_path)[0].claims == ("nvidia/nccl/lib/libnccl.so.2",)
    assert found(tmp_path)[0].package.missing == ()


def test_eggs_and_development_checkouts_are_distributions_too() -> None:
    host = RecordedMachine(
        {
            f"{SITE}/numpy-1.21.5.egg-info/PKG-INFO": "Name: numpy\nVersion: 1.21.5\n",
            f"{SITE}/PyYAML-5.4.1-py3.11.egg-info": "Name: PyYAML\n",
            "/src/vllm/vllm.egg-info/PKG-INFO": "Name: vllm\nVersion: 0.7.2.dev3\n\nText",
            "/env/eggs/cupy-11.0-py3.11-linux-x86_64.egg/EGG-INFO/PKG-INFO": "Name: cupy\nVersion: 11.0\n",
        }
    )
    path = [SITE, "/src/vllm", "/env/eggs/cupy-11.0-py3.11-linux-x86_64.egg"]
    packages = [each.package for each in find(host, entries(host, path, "", None, [SITE]), DirectoryNames(host))]
    assert [(p.name, p.version) for p in packages] == [
        ("pyyaml", "5.4.1"),
        ("numpy", "1.21.5"),
        ("vllm", "0.7.2.dev3"),
        ("cupy", "11.0"),
    ]


def test_an_extension_that_setup_py_installed_has_the_libraries_of_its_module() -> None:
    egg = "/env/eggs/sageattention-2.1.1-py3.11-linux-x86_64.egg"
    library = "sageattention/_qattn_sm80.cpython-311-x86_64-linux-gnu.so"
    host = RecordedMachine(
        {
            f"{egg}/EGG-INFO/PKG-INFO": "Name: sageattention\nVersion: 2.1.1\n",
            **dict.fromkeys((f"{egg}/{library}", f"{egg}/sageattention/core.py", f"{SITE}/{library}"), ""),
            f"{SITE}/sageattention-2.2.0-py3.11.egg-info/PKG-INFO": "Name: sageattention\nVersion: 2.2.0\n",
        }
    )
    found = find(host, entries(host, [egg, SITE], "", None, [SITE]), DirectoryNames(host))
    libraries = (library.rpartition("/")[2],)
    assert [(each.package.version, each.package.libraries) for each in found] == [
        ("2.1.1", libraries),
        ("2.2.0", libraries),
    ]


def test_a_package_in_two_folders_appears_twice_in_the_order_of_sys_path(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    distribution(one, "torch", "2.0.1")
    distribution(two, "torch", "2.8.0")
    here = machine()
    folders = entries(here, [str(one), str(two)], "", str(one), [str(two)])
    assert [(f.package.version, f.package.directory) for f in find(here, folders, DirectoryNames(here))] == [
        ("2.0.1", str(one)),
        ("2.8.0", str(two)),
    ]
    assert [(e.origin, e.is_site) for e in folders] == [("user site", True), ("", True)]


def test_a_folder_that_two_links_name_is_searched_once(tmp_path: Path) -> None:
    distribution(tmp_path / "lib", "torch", "2.8.0")
    (tmp_path / "lib64").symlink_to("lib")
    here = machine()
    both = [str(tmp_path / "lib64"), str(tmp_path / "lib"), str(tmp_path / "none")]
    assert [entry.path for entry in entries(here, both, "", None, [str(tmp_path / "lib")])] == [both[0]]


def test_entries_tell_how_they_came_there() -> None:
    host = RecordedMachine({f"{folder}/a.py": "" for folder in ("/given", SITE, "/editable")})
    found = entries(host, ["/given", SITE, "/editable"], "/given:/absent", None, [SITE])
    assert found == [
        PathEntry("/given", frozenset({"a.py"}), "PYTHONPATH"),
        PathEntry(SITE, frozenset({"a.py"}), "", is_site=True),
        PathEntry("/editable", frozenset({"a.py"}), ".pth"),
    ]


def test_a_leftover_of_pip_is_no_distribution(tmp_path: Path) -> None:
    (tmp_path / "~orch-2.0.1.dist-info").mkdir()
    assert found(tmp_path) == []


def test_a_record_with_a_comma_in_a_path_is_read(tmp_path: Path) -> None:
    place = distribution(tmp_path, "cupy-cuda12x", "13.0.0", ("cupy/a,b.so",))
    (place / "RECORD").write_text('"cupy/a,b.so",sha256=x,1\n,,\n')
    assert found(tmp_path)[0].claims == ("cupy/a,b.so",)
