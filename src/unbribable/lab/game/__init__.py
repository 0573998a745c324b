"""A visitor as the liar, moves in, the players' boards out; the page shows it."""
