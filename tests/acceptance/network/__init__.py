"""What the guard is tried with: servers on this machine, clients of every kind."""
