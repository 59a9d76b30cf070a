"""From measurements to a model: collecting data, making samples and labels, fitting, comparing."""
