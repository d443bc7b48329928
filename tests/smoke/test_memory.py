"""The host's memory that a worker may take: of the machine, a container, a job."""

from pathlib import Path

import pytest

from gpudoctor.workers.smoke.memory import UNKNOWN, available

GIB = 1 << 30
MACHINE = {"proc/meminfo": "MemTotal: 67108864 kB\nMemAvailable:   33554432 kB\n"}  # 32 of 64 GiB
JOB = "sys/fs/cgroup/system.slice/job"
OLD = "sys/fs/cgroup/memory"


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({}, UNKNOWN),
        (MACHINE, 32 * GIB),
        ({**MACHINE, "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": f"{GIB}\n"}, 32 * GIB),
        ({**MACHINE, "sys/fs/cgroup/memory.max": f"{4 * GIB}\n", "sys/fs/cgroup/memory.current": f"{GIB}\n"}, 3 * GIB),
        (  # files that are cached give way
            {
                **MACHINE,
                "proc/self/cgroup": "0::/system.slice/job\n",
                f"{JOB}/memory.max": f"{4 * GIB}\n",
                f"{JOB}/memory.current": f"{3 * GIB}\n",
                f"{JOB}/memory.stat": f"anon {GIB}\ninactive_file {GIB}\n",
            },
            2 * GIB,
        ),
        (  # a limit above counts too
            {
                **MACHINE,
                "proc/self/cgroup": "0::/system.slice/job\n",
                f"{JOB}/memory.max": "max\n",
                f"{JOB}/memory.current": f"{GIB}\n",
                "sys/fs/cgroup/system.slice/memory.max": f"{2 * GIB}\n",
                "sys/fs/cgroup/system.slice/memory.current": f"{GIB}\n",
            },
            GIB,
        ),
        (
            {
                **MACHINE,
                "proc/self/cgroup": "5:memory:/slurm/job\n4:cpu,cpuacct:/slurm\n",
                f"{OLD}/slurm/job/memory.limit_in_bytes": f"{8 * GIB}\n",
                f"{OLD}/slurm/job/memory.usage_in_bytes": f"{3 * GIB}\n",
                f"{OLD}/memory.limit_in_bytes": "9223372036854771712\n",
                f"{OLD}/memory.usage_in_bytes": f"{40 * GIB}\n",
            },
            5 * GIB,
        ),
        ({**MACHINE, "sys/fs/cgroup/memory.max": f"{GIB}", "sys/fs/cgroup/memory.current": f"{2 * GIB}"}, 0),
    ],
)
def test_what_is_left(tmp_path: Path, files: dict[str, str], left: int) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert available(str(tmp_path)) == left
