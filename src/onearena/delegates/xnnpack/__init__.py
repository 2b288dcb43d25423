"""The XNNPACK delegate: its payload, its rules, and how it is opened."""
