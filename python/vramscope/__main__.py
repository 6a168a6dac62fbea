"""`python -m vramscope` is the command `vramscope`."""

from vramscope._command import main

if __name__ == "__main__":
    main()
