"""Pages and API by which an owner runs the installation."""
