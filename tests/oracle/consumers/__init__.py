"""Readers of what `export` writes, each made from the format's own public description and from nothing of ours."""
