#!/usr/bin/env python
"""Entry point of crowdqc's commands, from a checkout."""

from crowdqc.devstack.console import main

if __name__ == "__main__":
    main()
