"""`python -m tracetape`."""

from tracetape.cli import main

if __name__ == "__main__":
    main()
