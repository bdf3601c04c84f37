"""How a worker wants to be paid where no platform pays them: entered, sealed, read by who pays."""
