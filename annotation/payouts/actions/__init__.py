"""Every write of bookings that need a second person."""
