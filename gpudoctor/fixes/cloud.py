"""Fixes of cloud machines: other hosts, other instance types, and each cloud's own way to a driver."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.maybe import known_or, phrase
from gpudoctor.queries.clouds import needs_grid
from gpudoctor.tasks import Placeholder, Shell, Tasks, as_root, cmd, filtered, query
from gpudoctor.tasks.placeholders import CLUSTER, GROUP, ID, MACHINE, NODE_GROUP

AZURE_DRIVERS = "https://learn.microsoft.com/azure/virtual-machines/linux/n-series-driver-setup"
AWS_DRIVERS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/install-nvidia-driver.html"
_EKS_IMAGES = "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html"
AWS_STOP = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Stop_Start.html"
GOOGLE_DRIVERS = "https://cloud.google.com/compute/docs/gpus/install-drivers-gpu"
_VGPU = "https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/index.html"
_ALL = query("lspci", "-d", "10de:")
# The clouds whose machines another host can be asked for, by another_host.
MOVES = ("aws", "azure", "gcp")


def another_host(facts: Facts) -> Fix:
    """Start the machine on another host of the cloud: a reboot stays on the one whose GPU is missing."""
    if facts.cloud.provider == "azure":
        message = "Redeploy the virtual machine, which moves it to another host; its temporary disk is erased."
        commands: Tasks = (cmd("az", "vm", "redeploy", "--resource-group", GROUP, "--name", MACHINE),)
    else:
        message = (
            "Stop the instance and start it again (a reboot is not enough): it then starts on another host. First "
            "save what is on disks of the host (instance store, local SSD); they are erased."
        )
        google = tuple(cmd("gcloud", "compute", "instances", do, MACHINE) for do in ("stop", "start"))
        amazon = tuple(cmd("aws", "ec2", f"{do}-instances", "--instance-ids", ID) for do in ("stop", "start"))
        commands = google if facts.cloud.provider == "gcp" else amazon
    return Fix(message, commands, "power-cycle", needs="another host", impact="data loss", verify=_ALL, place="outside")


def another_type(message: str) -> Fix:
    """Rent an instance type that has a GPU."""
    return Fix(message, (), "ask-vendor", needs="another instance type", impact="none", verify=_ALL)


def grid_driver() -> Fix:
    """Azure's way to NVIDIA's GRID driver, by an extension that picks the right release."""
    return Fix(
        "Install NVIDIA's current GRID driver as Azure distributes it, with the extension below (from any machine "
        f"with Azure's command line), or by hand according to {AZURE_DRIVERS}; first remove a driver of another kind.",
        (
            cmd(
                "az",
                "vm",
                "extension",
                "set",
                "--resource-group",
                GROUP,
                "--vm-name",
                MACHINE,
                "--name",
                "NvidiaGpuDriverLinux",
                "--publisher",
                "Microsoft.HpcCompute",
            ),
        ),
        "reinstall-package",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    )


def aws_grid_driver(facts: Facts) -> tuple[Fix, ...]:
    """The license daemon on AWS: of the GRID driver's installer in EC2's bucket, or by a later image."""
    machine = known_or(facts.host.architecture, None) or "x86_64"
    version = phrase("{}", facts.nvidia.kernel.loaded)
    driver = f"GRID driver{f' {version}' if version else ''}"
    bucket = "s3://ec2-linux-nvidia-drivers/"
    licensed = filtered(query("nvidia-smi", "-q"), query("grep", "-A2", "-i", "licensed"))
    install = Fix(
        f"Install the user space of the {driver}, which contains nvidia-gridd, from EC2's bucket "
        "(readable with the permission AmazonS3ReadOnlyAccess); the module stays, and the license comes by itself. If "
        f"the bucket no longer has this release, install its newest one with the module: {AWS_DRIVERS}",
        (
            cmd("aws", "s3", "cp", "--recursive", bucket, ".", "--exclude", "*", "--include", f"*{version or 'grid'}*"),
            Shell(f"sh $(find . -name 'NVIDIA-Linux-{machine}-{version}*.run') --no-kernel-modules", root=True),
            as_root("systemctl", "enable", "--now", "nvidia-gridd"),
        ),
        "reinstall-package",
        root=True,
        verify=licensed,
    )
    image = Fix(
        "A node of EKS: update the node group to a later AMI, which brings the GRID driver's user space too "
        "(awslabs/amazon-eks-ami#2450).",
        (cmd("aws", "eks", "update-nodegroup-version", "--cluster-name", CLUSTER, "--nodegroup-name", NODE_GROUP),),
        "reinstall-package",
        needs="other nodes",
        verify=licensed,
        place="outside",
    )
    return install, image


def guest_driver(facts: Facts) -> Fix:
    """The driver of a virtual GPU: it comes from who runs the host, and no package of a distribution is one."""
    if needs_grid(facts) or facts.cloud.provider == "azure":
        return grid_driver()
    return Fix(
        "Install the vGPU guest (GRID) driver of the host's vGPU release: ask who runs the hypervisor, or take the one "
        "that the cloud distributes. The drivers of distributions and of NVIDIA's public repository do not drive a "
        f"vGPU. {_VGPU}",
        (),
        "reinstall-package",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    )


def driver(facts: Facts, usual: Fix) -> tuple[Fix, ...]:
    """How this cloud installs a driver, before or instead of the distribution's way."""
    if needs_grid(facts):
        return (grid_driver(),)
    eks = known_or(facts.cluster.kubelet, False) and facts.host.distribution.id == "amzn"  # others' nodes: k3s, kubeadm
    if eks and facts.cloud.provider == "aws":
        return (_eks_image(facts), usual)
    if facts.cloud.provider == "gcp":
        message = f"Use Google's installer, which also builds the module for new kernels: {GOOGLE_DRIVERS}"
        return (usual, Fix(message, (), "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi")))
    return (usual,)


def _eks_image(facts: Facts) -> Fix:
    """A node group of the image with the driver: what is installed on a node is gone with it."""
    image = "AL2023_ARM_64_NVIDIA" if facts.host.architecture == "aarch64" else "AL2023_x86_64_NVIDIA"
    rest = Placeholder("...", "the subnets, the role and the size, as for the old node group")
    group = ("--cluster-name", CLUSTER, "--nodegroup-name", NODE_GROUP)
    machine = ("--instance-types", phrase("{}", facts.cloud.instance) or "TYPE")
    return Fix(
        "A node of EKS: create its node group from the image that has the driver and the container toolkit; the "
        "standard one has neither, and what is installed on a node is gone with it. The device plugin is still yours "
        f"to install. {_EKS_IMAGES}",
        (cmd("aws", "eks", "create-nodegroup", *group, "--ami-type", image, *machine, rest),),
        "reinstall-package",
        needs="other nodes",
        verify=query("nvidia-smi"),
        place="outside",
    )


def choose_gpu(notebook: str) -> Fix:
    """Select a GPU in the notebook's settings; the session restarts."""
    message = {
        "colab": "In Colab's menu select Runtime > Change runtime type and a GPU there, for example T4, then connect "
        "again. If none is offered, the account's quota is used up for now.",
        "kaggle": "In the notebook's settings select Session options > Accelerator and a GPU; this needs a verified "
        "phone number and remaining weekly hours.",
        "databricks": "Attach the notebook to a cluster with a GPU instance type and a Databricks Runtime ML for GPUs.",
    }.get(notebook, "Select a GPU in the settings of the notebook's session.")
    return Fix(
        message,
        (),
        "change-environment",
        needs="a new session, in which variables are lost",
        verify=query("nvidia-smi"),
    )
