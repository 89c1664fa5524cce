"""One importer per framework: from its objects or files to a `TreeEnsemble`."""
