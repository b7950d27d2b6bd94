"""The source of compiled programs. from_capture.py is the entry point; module_text.py writes programs for the CPU
(cpu_loops.py, cpu_rows.py), gpu_module.py for a GPU (gpu_loops.py, gpu_rows.py); names.py chooses names in the source.
"""
