"""What the site has that nobody types: the reference, the ledger, the pictures."""
