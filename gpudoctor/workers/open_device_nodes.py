"""Opens device nodes and tells each errno, a JSON line a node; in a child, because a wedged driver's open can hang.

open_device_nodes.py PATH...
"""

import errno
import json
import os
import sys

for path in sys.argv[1:]:
    error = None
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as refused:
        error = errno.errorcode.get(refused.errno or 0, str(refused.errno))
    print(json.dumps([path, error]), flush=True)
