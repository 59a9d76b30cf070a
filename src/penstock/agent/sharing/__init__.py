"""What the agents of a fleet tell each other through a folder that all of them see. Off unless configured."""
