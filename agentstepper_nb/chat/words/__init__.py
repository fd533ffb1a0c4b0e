"""What words may be added to, and what stands behind the six types that come with the package."""
