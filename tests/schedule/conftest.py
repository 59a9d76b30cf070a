"""What the tests of scheduling share."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says more about the other users of a machine than about the code.
settings.register_profile("any-speed", deadline=None)
settings.load_profile("any-speed")
