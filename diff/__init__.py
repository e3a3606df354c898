"""Values to plan: the smallest set of changes that turns the observed rows into the desired ones.

Pure. A plan is data: the command line prints it, the service applies it, the tests compare it.
"""
