# From a clone: docker build -t seqmtl .
# Then: docker run --rm -v "$PWD":/data -w /data seqmtl seqmtl annotate genome.fa --like Diptera -o results
FROM python:3.13 AS build
# this image has git, which knows the version
COPY . /clone
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist /clone

FROM python:3.13-slim
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(ls /dist/seqmtl-*.whl)[plots,genome]" && rm -r /dist
# any user may run it, with a home folder or without
ENV NUMBA_CACHE_DIR=/var/cache/seqmtl/numba MPLCONFIGDIR=/var/cache/seqmtl/matplotlib
# compile the loops once: numba uses a cache only if it can write there, and compiles again for
# another kind of processor
RUN seqmtl demo -q -o /tmp/demo && rm -r /tmp/demo && chmod -R a+rwX /var/cache/seqmtl
CMD ["seqmtl"]
