"""Scoring: loading an evaluator version and calling it under the contract, in a supervised process.

`version` what is pinned; `register` how a file or a package becomes a version; `built_in` the versions that need no
registering; `params` what a version is given; `pool` runs scorings in child processes (`supervisor`, `child`), whose
side of the pipe is `worker`, `calling` and `contract`. Nothing is exported here: the child must import little.
"""
