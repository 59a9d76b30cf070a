"""The law for plug-ins: suites that every observer, actuator and policy must pass, yours included."""
