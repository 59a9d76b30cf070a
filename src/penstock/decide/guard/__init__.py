"""The guard: whatever a policy wants, these rules decide whether it may, and take back what did harm."""

from penstock.decide.guard.guard import Guard
from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.reports import BoundUse, Effect, NodeView

__all__ = ["BoundUse", "Effect", "Guard", "GuardLimits", "NodeView"]
