/* dync: torch.compile for C, in one header.  See README.md.  The manual of the public half starts here. */
