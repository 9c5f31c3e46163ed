"""A real model inside this installation: `local/embedded` needs no server and no key.

`server.py` is the child process that runs the model, `host.py` what starts and ends it, `model.py`
the file with the weights. Needs the extra `local`; nothing of it is loaded before it is used.
"""
