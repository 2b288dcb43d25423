"""Tests of the region for temp memory."""
