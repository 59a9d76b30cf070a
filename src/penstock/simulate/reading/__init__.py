"""How a Lustre client reads ahead: patterns, windows, their limits, and what comes over the wire in vain.

Pure, in virtual time. One mechanism a file: `access_pattern` and `ahead_window` say what to ask for, `ahead_budget`
how much of it may be under way, `read_path` carries it, `reading_client` reads. Sizes are blocks of 64 KiB, because
no call here is smaller. It shares costs with the kernels of `simulate/kernel`, which go on with one fixed window.
"""
