"""Check the room `linking`."""
