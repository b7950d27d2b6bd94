"""The command line `minigrad`: the commands of this folder, with their help."""

from __future__ import annotations

from cyclopts import App

from ..cli import version
from . import (
    check_command,
    diff_command,
    explain_command,
    maintenance,
    render_command,
    run_command,
    share_command,
    source_command,
    step_command,
)

EXAMPLES = """Examples:

  minigrad render net.py:loss              all passes, into loss.svg
  minigrad render net.py:loss -f txt -o -  as text, in the terminal
  minigrad step net.py:loss                step through the operations
  minigrad explain net.py:loss --of w      explain the gradient of w
  minigrad share net.py:loss               print a link to the picture
  minigrad diff before.json net.py:loss    list the changes since before.json
  minigrad check functions.py:MyCube       test a custom Function
  minigrad run train.py                    run a PyTorch program on minigrad
  minigrad lessons                         learn how autograd works

Run minigrad COMMAND --help for details."""

app = App(
    suppress_keyboard_interrupt=False,  # cli.py says what was interrupted
    name="minigrad",
    help="Draw the forward, backward and jvp passes of a program, and manage compiled kernels.",
    help_format="plaintext",
    help_epilogue=EXAMPLES,
    version=version,
)
app.command(render_command.render, help_epilogue=render_command.EXAMPLES)
app.command(step_command.step, help_epilogue=step_command.EXAMPLES)
app.command(explain_command.explain, help_epilogue=explain_command.EXAMPLES)
app.command(share_command.share, help_epilogue=share_command.EXAMPLES)
app.command(diff_command.diff, help_epilogue=diff_command.EXAMPLES)
app.command(check_command.check, help_epilogue=check_command.EXAMPLES)
app.command(run_command.run, help_epilogue=run_command.RUN_EXAMPLES)
app.command(run_command.port, help_epilogue=run_command.PORT_EXAMPLES)
app.command(source_command.source, help_epilogue=source_command.EXAMPLES)
app.command(  # by name: the lessons import viz, and viz does not import the lessons
    "lessons.command:app",
    name="lessons",
    help="Learn: notebooks about each idea of automatic differentiation, with exercises that check themselves.",
)
app.command(maintenance.doctor, help_epilogue="")
app.command(maintenance.warmup, help_epilogue="")
app.command(maintenance.completion, help_epilogue="")
