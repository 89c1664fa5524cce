"""Learners on streams that change: our rivals of KAOGINC beside river's forests and our anytime classifiers."""
