import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "kernsemble",
    deadline=None,  # the first example compiles
    max_examples=40,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("kernsemble")
# tests interrupt themselves; a shell that starts a command in the background lets it ignore that
signal.signal(signal.SIGINT, signal.default_int_handler)
