"""What results are measured by: mixtures of Gaussians with EM, and the areas under two curves."""
