"""Reading kernel NFS clients."""
