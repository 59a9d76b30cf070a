"""The CARAT authors' sequences and interference lists, by the names of their files and in our names of workloads.

Origin: the files `*_sequence_N.txt` and `inf_run_N__SET.txt` of the authors' public traces and scripts. A list of
interference is called by its set and its run: `inf_run_1__r_w_dd_10g.txt` is `r_w_dd_10g_1`.

Nothing says what `dd`, `psd`, `1g` and `10g` in those names stand for. They are labels here and change nothing.
`r_r`, `w_w` and `r_w` are read only, write only and mixed, as the workloads in them show.
"""

from __future__ import annotations

Works = tuple[str, ...]

AUTHORS_SEQUENCES: dict[str, Works] = {
    "read_sequence_0": ("s_rd_rn_1m", "s_rd_sq_8k", "f_rd_rn_1m", "f_rd_sq_16m"),
    "read_sequence_1": ("s_rd_rn_1m", "f_rd_rn_16m", "s_rd_sq_1m", "f_rd_sq_16m"),
    "read_sequence_2": ("f_rd_rn_8k", "f_rd_sq_16m", "f_rd_rn_16m", "s_rd_sq_8k"),
    "read_sequence_3": ("f_rd_rn_8k", "f_rd_sq_16m", "s_rd_rn_8k", "s_rd_sq_1m"),
    "write_sequence_0": ("s_wr_rn_8k", "s_wr_sq_1m", "f_wr_rn_8k", "f_wr_sq_16m"),
    "write_sequence_1": ("f_wr_rn_16m", "s_wr_sq_8k", "s_wr_rn_8k", "f_wr_rn_1m"),
    "write_sequence_2": ("f_wr_rn_1m", "s_wr_rn_8k", "s_wr_sq_16m", "f_wr_sq_16m"),
    "write_sequence_3": ("f_wr_rn_1m", "s_wr_rn_16m", "s_wr_sq_8k", "f_wr_sq_1m"),
    "rw_sequence_0": ("f_rd_rn_8k", "s_wr_sq_16m", "s_rd_rn_1m", "f_wr_rn_1m"),
    "rw_sequence_1": ("f_rd_rn_1m", "s_wr_sq_1m", "f_wr_rn_8k", "s_rd_sq_8k"),
    "rw_sequence_2": ("f_rd_rn_8k", "s_wr_sq_8k", "f_wr_rn_8k", "s_rd_rn_16m"),
    "rw_sequence_3": ("f_rd_rn_8k", "f_wr_rn_8k", "s_rd_sq_16m", "s_wr_rn_16m"),
}

_READS = ("s_rd_rn_1m", "s_rd_sq_8k", "f_rd_rn_1m", "f_rd_sq_16m")
_WRITES = ("s_wr_rn_8k", "s_wr_sq_1m", "f_wr_rn_8k", "f_wr_sq_16m")
_BOTH = ("s_rd_rn_1m", "s_wr_rn_8k", "f_wr_sq_16m", "f_rd_sq_16m")
_WRITES_1 = ("f_wr_rn_1m", "s_wr_rn_8k", "f_wr_sq_16m", "s_wr_sq_1m", "f_wr_rn_16m")
_BOTH_1 = ("f_wr_rn_1m", "s_rd_sq_1m", "s_wr_rn_8k", "f_rd_rn_1m", "s_wr_sq_16m")

AUTHORS_LISTS: dict[str, Works] = {
    "r_r_dd_10g_0": (*_READS, "f_rd_rn_8k"),
    "r_r_psd_10g_0": (*_READS, "f_rd_sq_8k"),
    "r_r_dd_10g_1": ("f_rd_sq_16m", "s_rd_rn_1m", "f_rd_rn_1m", "s_rd_sq_8k", "s_rd_rn_16m"),
    "w_w_dd_10g_0": (*_WRITES, "f_wr_rn_1m"),
    "w_w_dd_1g_0": (*_WRITES, "f_wr_rn_1m"),
    "w_w_psd_1g_0": (*_WRITES, "f_wr_rn_1m"),
    "w_w_psd_10g_0": (*_WRITES, "f_wr_sq_1m"),
    "w_w_dd_10g_1": _WRITES_1,
    "w_w_dd_1g_1": _WRITES_1,
    "r_w_dd_10g_0": (*_BOTH, "f_rd_sq_8k"),
    "r_w_psd_10g_0": (*_BOTH, "f_rd_sq_8k"),
    "r_w_dd_1g_0": (*_BOTH, "f_rd_rn_8k"),
    "r_w_dd_10g_1": _BOTH_1,
    "r_w_dd_1g_1": _BOTH_1,
}
