"""The web page that shows an agent, its log, a recording or the simulator in a browser."""
