"""Tests of reading modprobe's configuration."""

from gpudoctor.facts import ConfigLine
from gpudoctor.probes.nvidia import modprobe_conf
from gpudoctor.recorded_machine import RecordedMachine


def test_forbidden_modules_from_files_and_from_the_command_line() -> None:
    files = {
        "/etc/modprobe.d/a.conf": "# blacklist nvidia_uvm\nblacklist nouveau\ninstall nova_core /bin/false\n",
        "/usr/lib/modprobe.d/b.conf": "alias nvidia-drm off\ninstall nvidia /sbin/modprobe -i nvidia-current\n",
        "/etc/modprobe.d/c.conf.disabled": "blacklist nvidia\n",
    }
    line = "ro modprobe.blacklist=amdgpu,floppy rd.driver.blacklist=nova-core module_blacklist=i915 quiet"
    seen = modprobe_conf.probe(RecordedMachine(files), line)
    assert seen.blacklists == ("nouveau", "nova_core", "nvidia_drm", "amdgpu", "i915")
    assert seen.lines == {
        "nouveau": (ConfigLine(path="/etc/modprobe.d/a.conf", text="blacklist nouveau"),),
        "nova_core": (ConfigLine(path="/etc/modprobe.d/a.conf", text="install nova_core /bin/false"),),
        "nvidia_drm": (ConfigLine(path="/usr/lib/modprobe.d/b.conf", text="alias nvidia-drm off"),),
    }


def test_a_file_hides_its_namesake_in_a_later_folder() -> None:
    files = {"/etc/modprobe.d/nvidia.conf": "", "/usr/lib/modprobe.d/nvidia.conf": "blacklist nvidia\n"}
    assert modprobe_conf.probe(RecordedMachine(files), "").blacklists == ()


def test_options_from_files_and_from_the_command_line() -> None:
    files = {
        "/etc/modprobe.d/n.conf": 'options nvidia NVreg_EnableGpuFirmware=0 \\\n  NVreg_RegistryDwords="A=1"\n'
        "options vfio-pci ids=10de:2204,10de:1aef\noptions snd_foo x=1\n"
        "options ttm pages_limit=31457280\n"
    }
    seen = modprobe_conf.probe(RecordedMachine(files), "nvidia-drm.modeset=1 amdgpu.noretry=0 acpi=off root=a.b")
    assert seen.options == {
        "nvidia.NVreg_EnableGpuFirmware": "0",
        "nvidia.NVreg_RegistryDwords": "A=1",
        "vfio_pci.ids": "10de:2204,10de:1aef",
        "nvidia_drm.modeset": "1",
        "ttm.pages_limit": "31457280",
        "amdgpu.noretry": "0",
    }


def test_the_files_of_all_folders_are_read_in_the_order_of_their_names() -> None:
    files = {
        "/etc/modprobe.d/nvidia.conf": "options nvidia NVreg_DynamicPowerManagement=0x00\n",
        "/usr/lib/modprobe.d/system76-power.conf": "options nvidia NVreg_DynamicPowerManagement=0x02\n",
    }
    assert modprobe_conf.probe(RecordedMachine(files), "").options == {"nvidia.NVreg_DynamicPowerManagement": "0x02"}
    last = {"/etc/modprobe.d/zz-nvidia.conf": "options nvidia NVreg_DynamicPowerManagement=0x00\n"}
    seen = modprobe_conf.probe(RecordedMachine(files | last), "")
    assert seen.options == {"nvidia.NVreg_DynamicPowerManagement": "0x00"}


def test_what_loads_a_module_by_its_name() -> None:
    files = {
        "/etc/initramfs-tools/modules": "# modules for the initial RAM disk\nnouveau\n",
        "/etc/modules": "loop\n#nouveau\n",
        "/etc/modules-load.d/gpu.conf": "nouveau modeset=1\nnouveau_test\n",
    }
    found = [(line.path, line.text) for line in modprobe_conf.loaded_by_name(RecordedMachine(files), "nouveau")]
    assert found == [
        ("/etc/initramfs-tools/modules", "nouveau"),
        ("/etc/modules-load.d/gpu.conf", "nouveau modeset=1"),
    ]


def test_lines_that_reserve_devices_for_virtual_machines() -> None:
    line = "options vfio-pci ids=10de:2504,10de:228e disable_vga=1"
    files = {"/etc/modprobe.d/vfio.conf": f"# passthrough\n{line}\noptions vfio-pci disable_idle_d3=1\n"}
    seen = modprobe_conf.probe(RecordedMachine(files), "")
    assert [(one.path, one.text) for one in seen.reserving] == [("/etc/modprobe.d/vfio.conf", line)]
