"""The agent: the one place where clock, observer, tuner and actuator meet."""
