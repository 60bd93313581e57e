"""The intermediate representation: what a job does, for any target."""
