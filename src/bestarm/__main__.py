"""`python -m bestarm` is the command line."""

from bestarm.cli.main import main

if __name__ == "__main__":
    main()
