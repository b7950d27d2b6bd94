"""A forked program ends as in a new Python: its exit code, its output, its threads and its last functions."""

import sys

import pytest

from tests.forked import python

PROGRAMS = {
    "the end": "print('said')",
    "a code": "import sys; print('said'); sys.exit(3)",
    "a code beyond a byte": "import sys; sys.exit(259)",
    "a text": "import sys; sys.exit('wrong')",
    "no code": "import sys; sys.exit(None)",
    "last functions": "import atexit; atexit.register(print, 'second'); atexit.register(print, 'first')",
    "a last function after an error": "import atexit; atexit.register(print, 'last'); 1 / 0",
    "a temporary folder": "import tempfile; print(len(tempfile.TemporaryDirectory(prefix='made', dir='.').name) > 0)",
    "a thread": "import threading, time; threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()",
    "an interrupt": "raise KeyboardInterrupt",
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_forked_program_ends_as_in_a_new_python(program, tmp_path):
    (tmp_path / "program.py").write_text(program)
    forked, new = (python("program.py", cwd=tmp_path, new=new) for new in (False, True))
    assert (forked.returncode, forked.stdout) == (new.returncode, new.stdout)
    last = lambda done: done.stderr.splitlines()[-1:]  # a traceback begins in tests/forked.py
    assert last(forked) == last(new)
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]
