"""What is known of one person: cards, boards over tasks, erasure, their own data."""
