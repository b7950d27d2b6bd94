"""Pages that compute: records evaluated in JavaScript, without Python and without a server.

`library.script(texts)` is a small tensor library and a parser for the Python in which labels are written. Its pointwise
functions are generated from the kernels of the operations (kernels.py); others are translated from their Python, or that of
their programs, when a page needs them (translated.py): so it knows an operation that a user declares. By hand stand, in
JavaScript or as expressions (arrays, windows, special, definitions), those that the processor has by hand.

`record.live_record(record)` writes a record as the steps of all its passes (steps.py, flows.py), among them what custom
Functions computed (scopes.py), random numbers (draws.py) and writes (writes.py); record.js runs them, again for each change.
"""
