"""Ctrl-C while this process works, on a machine of any speed."""

import _thread
import contextlib
import signal
import threading
import time


@contextlib.contextmanager
def ctrl_c_after(seconds):
    """Send Ctrl-C once the block has used so much time of a processor, if it still runs."""
    main, ended = threading.main_thread().ident, threading.Event()

    def press():
        end = time.process_time() + seconds
        while time.process_time() < end:
            if ended.wait(0.01):
                return
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(main, signal.SIGINT)
        else:  # Windows
            _thread.interrupt_main()

    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
