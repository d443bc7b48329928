"""The room gpudoctor.monitor."""
