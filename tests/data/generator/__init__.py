"""Writes the test characters of tests/data; numpy only."""
