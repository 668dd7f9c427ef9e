# Rscript kebabs.R TABLE KERNELS OUT: scores of KeBABS for rows of TABLE that are not of the split train.
# Its own cross-validation chooses among kernels, such as spectrumKernel(k=4:6), and costs. The strands
# are joined: with revComplement=TRUE, version 1.39.0 has wrong values or breaks off for some kernels.

suppressMessages(library(kebabs))
words <- commandArgs(TRUE)
rows <- read.delim(words[1])
train <- rows$split == "train"
sequences <- DNAStringSet(rows$sequence)
sequences <- xscat(sequences, strrep("N", 12), reverseComplement(sequences))
fit <- function(...) {
    kbsvm(x=sequences[train], y=rows$label[train], pkg="LiblineaR", svm="C-svc", explicit="yes", ...)
}
set.seed(1)
kernels <- eval(parse(text=words[2]))
grid <- modelSelResult(fit(kernel=kernels, cost=c(0.1, 1, 10), cross=5))
print(grid)
model <- fit(kernel=grid@selGridRow, cost=grid@selGridCol$cost)
scores <- numeric(nrow(rows))
scores[!train] <- predict(model, sequences[!train], predictionType="decision")
write(scores, words[3], ncolumns=1)
