"""The memory that a process may still take."""

import resource

from seqmtl._memory import available_memory


def test_a_limit_of_the_address_space_counts():
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as stream:
        used = int(stream.read().split()[0]) * resource.getpagesize()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), before[1]))
        assert 100 << 20 < available_memory() <= 200 << 20
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
