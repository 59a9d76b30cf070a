"""From measurements to a model: collecting, samples and labels, fitting, comparing."""
