"""What people and other systems are told: notices on pages, mail, and webhooks."""
