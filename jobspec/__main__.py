"""``python -m jobspec``."""

from jobspec.cli import main

if __name__ == "__main__":
    main()
