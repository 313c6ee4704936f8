"""One module per question: domain objects in, an Answer out. Nothing here reads or prints."""
