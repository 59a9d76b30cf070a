"""The agent: connects clock, observer, tuner and actuator in one control loop, and runs it as a service."""
