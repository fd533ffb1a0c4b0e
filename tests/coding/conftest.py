"""What the agent works on in these tests is not ours to run."""

collect_ignore = ["repos", "scripts"]
