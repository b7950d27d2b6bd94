"""user_code.py is checked, and never runs: half of its lines are mistakes."""

collect_ignore = ["user_code.py"]
