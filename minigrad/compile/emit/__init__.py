"""The text of compiled programs: from_capture.py begins; module_text.py for the processor (cpu_loops.py, cpu_rows.py),
gpu_module.py for a GPU (gpu_loops.py, gpu_rows.py), names.py for how values are spelled in it.
"""
