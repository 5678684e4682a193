"""The least that any linter in Python must do: walk a folder and read the bytes of every file."""

import os
import sys

total = 0
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:  # noqa: PTH118, PTH123 - the cheap way is the point
            total += len(file.read())
print(total)
