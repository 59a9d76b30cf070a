"""A policy of one's own: small RPCs, many of them, while a target mostly reads.

Run it: penstock simulate run --workload s_rd_rn_1m --policy examples/policy/small_rpcs.py
"""

from penstock import Outlook, Policy, Proposal, Window


class SmallRpcs(Policy):
    name = "small-rpcs"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        if window.rate("read.bytes") < window.rate("write.bytes"):
            return Proposal(window.setting, "writes", "it mostly writes: leave it")
        return Proposal(window.setting.replace(pages=64, flight=32), "reads", "it mostly reads: small RPCs")


POLICY = SmallRpcs
