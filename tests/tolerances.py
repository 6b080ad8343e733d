"""The tolerances of the whole suite. A looser one carries its reason where it is used."""

ROUNDING = 1e-12  # the same arithmetic in another order
ALGEBRA = 1e-9  # the same quantity by another algorithm, in well-conditioned cases
QUADRATURE = 1e-8  # what the docs promise of 1-D integrals
STANDARD_ERRORS = 4.5  # |z| beyond this has probability 7e-6 under a correct program
