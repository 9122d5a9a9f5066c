"""The command line: one module per command, combined in `kernsemble.cli.app`.

Results go to standard output; progress, notes and errors to standard error. The library is
imported only when a command needs it.
"""
