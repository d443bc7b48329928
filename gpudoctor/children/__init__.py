"""What gpudoctor.child is made of: one child process, and what is kept of its output."""
