"""Read what a file system client tells about itself. Nothing in this room ever writes to the kernel."""
