"""Programs for the Ethos-U: what its scratch costs beside the tensors, and among them."""
