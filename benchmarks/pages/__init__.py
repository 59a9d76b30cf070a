"""The documentation site: pages made from the code, the site itself, and the checks of both."""
