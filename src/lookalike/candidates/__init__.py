"""Where candidate pairs come from: identical items, shared bands, shared prefixes."""
