"""The syntax of feature descriptions; imports nothing, so that reading it is cheap."""

#: The default views: exact positions around the site and, with less weight, everywhere; bins.
#: Without the second, starts of translation lose .043 AUPRC, stops .073, core promoters .003.
DEFAULT_VIEWS = (
    "wd:5@-20..20,wd:4=0.3,kmers:3-5/7@-80..80=0.05,kmers:3-6/25@-80..80=0.05,kmers:3-6/80=0.05"
)

#: Variants: a third of the weight on bins; three times as much, and no exact positions far from the
#: site; more weight on these, and no narrow bins.
VARIANTS = (
    DEFAULT_VIEWS.replace("=0.05", "=0.0167"),
    DEFAULT_VIEWS.replace("wd:4=0.3,", "").replace("=0.05", "=0.15"),
    "wd:5@-20..20,wd:4=0.9,kmers:3-6/25@-80..80=0.05,kmers:3-6/80=0.05",
)

#: Exact positions alone: best for signals at fixed distances of each other, as in core promoters.
EXACT_VIEWS = "wd:6"

#: The default of sequences without a site: spectra, and gapped k-mers with a larger weight.
ANYWHERE_VIEWS = "spectrum:1-6=0.4,gapped:9/7=0.6"
#: The same of one strand.
STRANDED_VIEWS = "spectrum:1-6:stranded=0.4,gapped:9/7:stranded=0.6"

#: Explains the syntax to users of the command line.
GRAMMAR = f"""\
FEATURES is a list of views with commas between them:
  wd:D                 weighted degrees: the 1-mers to D-mers of every position
  kmers:K1-K2/W        the K1-mers to K2-mers in bins of W positions (inf: up- and downstream)
  spectrum:K1-K2       the K1-mers to K2-mers wherever they are; windows need no site and may differ
                       in length
  gapped:L/K           so K letters in at most L bases
  ...:stranded         these, with a k-mer and its reverse complement as two
  ...@BEGIN..END       only k-mers that start there, relative to the site (0-based, half-open)
  ...=WEIGHT           weight in the kernel (default: 1): of wd, spectrum and gapped in all, else
                       per length of k-mers; the first two kinds have norm 1 together
  hash:B               hash the k-mers of all views to 2**B weights per organism, B from 1 to 30;
                       alone, those of the default (without it: exact; 22 bits above 1 GiB)
Lists with + between them have a kernel each, such as wd:5+kmers:3-5/25: --mkl learns the weight of
each of them times each similarity; else they count alike. Each list has a hash:B of its own.
The default is {DEFAULT_VIEWS}"""
