"""The documentation site: pages that are made from the code while the site is built."""
