"""Set what was decided, and undo it after anything. Nothing in this room chooses a value."""
