"""In which order operations run, so that the most that is alive at once is least."""
