"""Files in Django's storages: written whole under names of their own, moved, and cleaned up."""
