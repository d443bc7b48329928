"""What of NVIDIA's CDI specifications becomes facts."""

from gpudoctor.facts.container_host import CdiGone, CdiNode
from gpudoctor.maybe import Unknown
from gpudoctor.probes.cdi import probe
from gpudoctor.recorded_machine import RecordedMachine

FILE, OTHER = "/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.json"
NODES = "".join(
    f"  - path: {path}\n    major: {major}\n"
    for path, major in [
        ("/dev/nvidia0", 195),
        ("/dev/nvidia1", 195),
        ("/dev/nvidia-uvm", 510),
        ("/dev/dri/card1", 226),
        ("/dev/nvidia-caps/nvidia-cap1", 235),
        ("/dev/nvidia-caps/nvidia-cap2", 235),
    ]
)
TEXT = f"kind: nvidia.com/gpu\ncontainerEdits:\n  deviceNodes:\n{NODES}"


def test_one_node_of_each_driver() -> None:
    files = {FILE: TEXT, OTHER: '{"kind": "nvidia.com/gpu", "deviceNodes": [{"path": "/dev/nvidia-uvm"}]}'}
    found = probe(RecordedMachine(files))
    assert found.paths == (FILE, OTHER)
    assert not isinstance(found.nodes, Unknown)
    assert [(node.file, node.path, node.major) for node in found.nodes] == [
        (FILE, "/dev/nvidia-caps/nvidia-cap2", 235),
        (FILE, "/dev/nvidia-uvm", 510),
        (FILE, "/dev/nvidia1", 195),
        (OTHER, "/dev/nvidia-uvm", None),
    ]
    assert found.nodes[0] == CdiNode(file=FILE, kind="nvidia.com/gpu", path="/dev/nvidia-caps/nvidia-cap2", major=235)


def test_those_of_other_vendors_are_left_out() -> None:
    files = {"/etc/cdi/amd.yaml": "kind: amd.com/gpu\n  - path: /dev/kfd\n    major: 510\n"}
    found = probe(RecordedMachine(files))
    assert (found.paths, found.driver, found.nodes) == (("/etc/cdi/amd.yaml",), None, ())


def test_no_specification() -> None:
    found = probe(RecordedMachine({"/etc/cdi/README": ""}))
    assert (found.paths, found.driver, found.fields, found.nodes) == ((), None, {}, ())


FLOW = "kind: nvidia.com/gpu\ncontainerEdits:\n  deviceNodes: [{path: /dev/nvidia-uvm, major: 511}]\n"


def test_nodes_in_a_style_that_is_not_read_are_unknown() -> None:
    found = probe(RecordedMachine({FILE: FLOW, OTHER: "{}"}))
    assert (found.paths, found.driver) == ((FILE, OTHER), None)
    assert found.nodes == Unknown(f"{FILE}: its device nodes cannot be read")


def test_a_folder_that_cannot_be_listed_is_not_empty() -> None:
    why = Unknown("/etc/cdi cannot be listed")
    found = probe(RecordedMachine({FILE: TEXT}, errors={"/etc/cdi": "EACCES"}))
    assert (found.paths, found.driver, found.nodes) == (why, why, why)
    empty = probe(RecordedMachine(folders=["/etc/cdi"]))
    assert (empty.paths, empty.nodes) == ((), ())


MOUNTS = """  mounts:
  - containerPath: /usr/lib/libnvidia-gtk3.so.610.43.03
    hostPath: /usr/lib/libnvidia-gtk3.so.610.43.03
  - hostPath: /run/nvidia-persistenced/socket
    containerPath: /run/nvidia-persistenced/socket
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
"""
NAMED = "kind: nvidia.com/gpu\ncontainerEdits:\n  deviceNodes:\n  - path: /dev/dri/card1\n" + MOUNTS


def missing(machine: RecordedMachine) -> list[str]:
    return [one.path for one in probe(machine).gone]


def test_what_the_host_does_not_have() -> None:
    here = {FILE: NAMED, "/usr/lib/libcuda.so.1": "", "/usr/bin/nvidia-smi": "", "/dev/dri/card0": ""}
    assert missing(RecordedMachine(here)) == [
        "/dev/dri/card1",
        "/usr/lib/libnvidia-gtk3.so.610.43.03",
        "/run/nvidia-persistenced/socket",
        "/usr/bin/nvidia-cdi-hook",
    ]
    there = here | dict.fromkeys(missing(RecordedMachine(here)), "")
    assert missing(RecordedMachine(there)) == []
    assert probe(RecordedMachine(here)).gone[0] == CdiGone(file=FILE, kind="nvidia.com/gpu", path="/dev/dri/card1")


def test_a_path_in_a_closed_directory_is_not_missing() -> None:
    here = {FILE: NAMED, "/run/nvidia-persistenced/pid": "", "/usr/lib/x": "", "/usr/bin/x": "", "/dev/dri/card1": ""}
    closed = RecordedMachine(here, errors={"/run/nvidia-persistenced": "EACCES"})
    assert "/run/nvidia-persistenced/socket" not in missing(closed)


def test_a_specification_in_json_has_paths_too() -> None:
    mounts = '[{"hostPath": "/nix/store/x-nvidia/lib/libcuda.so.1"}]'
    text = f'{{"kind": "nvidia.com/gpu", "containerEdits": {{"mounts": {mounts}}}}}'
    assert missing(RecordedMachine({OTHER: text})) == ["/nix/store/x-nvidia/lib/libcuda.so.1"]
    assert missing(RecordedMachine({OTHER: text.replace("nvidia.com", "amd.com").replace("x-nvidia", "x")})) == []
    assert missing(RecordedMachine({OTHER: '{"nvidia.com/'})) == []
