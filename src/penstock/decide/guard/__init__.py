"""The guard: whatever a policy wants, these rules decide whether it may, and take back what did harm."""

from penstock.decide.guard.guard import Effect, Guard, NodeView
from penstock.decide.guard.record import GuardLimits

__all__ = ["Effect", "Guard", "GuardLimits", "NodeView"]
