"""Reading FUSE mounts of network file systems."""
