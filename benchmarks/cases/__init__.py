"""The benchmarks, one file each: a place in, figures out."""
