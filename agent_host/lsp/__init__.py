"""The edge: LSP on one side, core words on the other. Alone in knowing pygls and lsprotocol."""
