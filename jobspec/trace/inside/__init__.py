"""What runs inside the sandbox, by itself: only the standard library, and no other module of jobspec."""
