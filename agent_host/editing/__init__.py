"""Pure functions on text: encodings and endings, finding the place of an edit, differences."""
