# Builds an image only if its driver and frameworks fit together. Put it next to your own sources.
variable "gpudoctor" {
  type        = string
  default     = "gpudoctor-cli"
  description = "What pip installs."
}

build {
  sources = ["source.amazon-ebs.gpu"]

  provisioner "shell" {
    inline = [
      "sudo python3 -m venv /opt/gpudoctor",
      "sudo /opt/gpudoctor/bin/pip install ${var.gpudoctor}",
    ]
  }

  # 1, a problem, stops the build. 3 is "too much is unknown", or "NO GPU" on a builder without one: the image's
  # driver and frameworks ask for the GPU of the machines that start from it, so here that is no failure.
  provisioner "shell" {
    inline           = ["/opt/gpudoctor/bin/gpudoctor check --timeout 120 --skip device.no-gpu"]
    valid_exit_codes = [0, 3]
  }
}
