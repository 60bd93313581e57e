"""First manifests: what a user says, what is known of recipes and models, and a layout that passes the checks."""
