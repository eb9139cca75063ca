"""`python -m rejudge.cli`."""

from rejudge.cli.program import main

if __name__ == "__main__":
    main()
