"""Takes out of facts what identifies a person or a machine, so that they can be handed to others."""
