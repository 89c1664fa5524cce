import os

from hypothesis import settings

settings.register_profile("thorough", deadline=None, max_examples=100)
settings.register_profile("quick", deadline=None, max_examples=15)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "thorough"))
