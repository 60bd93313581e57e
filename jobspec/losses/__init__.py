"""The progress of trainings, from their logs."""
