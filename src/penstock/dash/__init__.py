"""The web page: what an agent, its log, a recording or the simulator shows, served to a browser. Changes nothing."""
