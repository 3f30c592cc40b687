"""A soak: both stacks work for a long time while processes die and freeze, services restart and the disk fills up."""
