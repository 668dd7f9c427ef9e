# From the wheel, in a clone: python -m build && docker build -t seqmtl .
# Then: docker run --rm -v "$PWD":/data -w /data seqmtl seqmtl annotate genome.fa --like Diptera -o results
FROM python:3.13-slim
COPY dist/seqmtl-*.whl /tmp/dist/
RUN pip install --no-cache-dir "$(ls /tmp/dist/seqmtl-*.whl)[plots,genome]" && rm -r /tmp/dist
# any user may run it, with a home folder or without
ENV NUMBA_CACHE_DIR=/tmp/numba MPLCONFIGDIR=/tmp/matplotlib
CMD ["seqmtl"]
