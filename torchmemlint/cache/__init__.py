"""The cache: what a run found, kept until anything that it depends on changes.

A record holds one run (these paths, this folder, these settings) with the state of every file and folder that it
looked at. While all are as they were, the findings are read from it, and neither libcst nor a rule is loaded. Records
are JSON: nothing that is read from the cache can run. A cache that can't be read or written is no error: the run is
made."""

from torchmemlint.cache.place import cache_folder, clean_folder
from torchmemlint.cache.record import Known, Trail, lookup

__all__ = ["Known", "Trail", "cache_folder", "clean_folder", "lookup"]
