"""What is typed: one command a module, put together in `kernsemble.cli.app`.

Answers go to standard output, and progress, notes and errors to standard error. Nothing is
imported before a command needs it.
"""
