"""Add a policy and compare it with CARAT: small, many RPCs while reads are slow, the default otherwise."""

from penstock import Cluster, Setting


def mine(seen: dict[str, float]) -> Setting | None:
    if seen["read.mbps"] > seen["write.mbps"]:
        return Setting(pages=64, flight=32)
    return None


for workload in ("s_rd_rn_1m", "dlio-bert:files=40,threads=2"):
    world = Cluster(workload, seconds=10)
    print(f"{workload}: mine {world.play(mine):.0f}, carat {world.play('carat'):.0f} MB/s")
