"""Grades by style and origin (Table 7) and overlap (Table 8), and what follows from them."""
