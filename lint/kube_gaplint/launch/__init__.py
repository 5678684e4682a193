"""From command lines and scripts to processes and their settings: shell, launchers, frameworks, Python."""
