"""What keeps the repository in order: the documentation site, the changelog, the wheels."""
