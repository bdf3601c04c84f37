"""What breaks around the app: what people meet meanwhile, and that all goes on afterwards."""
