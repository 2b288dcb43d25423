"""Tests of what is known of programs for Cortex-M."""
