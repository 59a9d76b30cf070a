"""The command line: parsing and showing, no logic. One module per verb."""
