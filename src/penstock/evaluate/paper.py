"""The figures that the papers report, in MB/s, for comparison. Their testbed is real; ours is simulated."""

from __future__ import annotations

# CARAT, Table V: process 1 writes, process 2 reads, 8 KB sequentially.
TABLE_V = {
    "default": (76.5, 14.4),
    "optimal-1": (73.8, 25.1),
    "optimal-2": (77.8, 26.1),
    "carat": (93.6, 58.1),
}
# CARAT, Table VI: aggregate of five clients, default and CARAT.
TABLE_VI = {"read": (1223.04, 1403.80), "write": (2445.64, 3604.38), "mixed": (1030.96, 3057.08)}
# CARAT, Table VII: default and CARAT. The text says 3D arrays; its BDCATS-IO is a full read.
TABLE_VII = {"vpic-3d": (459.7, 514.6), "bdcats-full": (398.2, 405.3)}
# DIAL, Table II: optimal and DIAL.
DIAL_II = {
    "vpic-1d": (327.2, 321.6),
    "vpic-2d": (319.4, 317.7),
    "vpic-3d": (331.1, 326.1),
    "bdcats-partial": (441.3, 436.1),
    "bdcats-strided": (455.5, 455.5),
    "bdcats-full": (463.3, 463.1),
}
STATIC_BEST, STATIC_WORST = (
    3.0,
    0.9,
)  # Fig. 6: up to three times the default, never below by more than a tenth
DYNAMIC_BEST = 3.0  # Fig. 7
LEARNING_BEST = 1.75  # Fig. 8
