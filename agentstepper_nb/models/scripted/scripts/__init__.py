"""Scripts that ship with the package; each module has one, named `script`."""
