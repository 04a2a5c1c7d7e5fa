"""The book's code: exercises, solutions, pictures and the web site."""
