"""One module a command: arguments in, report out, exit code back. No decision about rows is made here."""
