"""How far a board holds, in words."""
