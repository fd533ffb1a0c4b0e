"""Model providers, each in its own module: nothing is imported here that isn't used."""
