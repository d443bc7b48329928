"""What of NVIDIA's CDI specifications becomes facts."""

from gpudoctor.facts.container_host import CdiNode
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
