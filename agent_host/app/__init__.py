"""The application behind the edge: it answers the editor's requests with the parts it is given."""
