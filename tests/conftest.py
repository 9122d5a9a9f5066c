import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "kernsemble",
    deadline=None,  # the first example compiles
    max_examples=40,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("kernsemble")
