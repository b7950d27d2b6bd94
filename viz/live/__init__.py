"""Pages that compute: records evaluated in JavaScript, without Python and without a server.

`library.script(texts)` is a small tensor library and a parser for the Python in which labels are written, as far as these
expressions need them (parts.py). Its pointwise functions are generated from the kernels of the operations (kernels.py). A
function that consists of other functions is an expression that the same parser reads: those for shapes and orders are in
arrays.py, for windows in windows.py, special functions in special.py, all others in definitions.py. By hand, in JavaScript,
are products, sums, indexing, scans, sorting and elimination.

`record.live_record(record)` writes a record as the steps of all its passes (steps.py, flows.py), among them what custom
Functions computed (scopes.py), random numbers (draws.py) and writes (writes.py); record.js runs them, again for each change.
"""
