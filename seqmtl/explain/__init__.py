"""What a model has learnt: oligomer importance, logos, contributions, mutagenesis, k-mers."""
