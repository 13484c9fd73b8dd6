"""Commands side by side on a host of several GPUs, each with one of them and a part of the cores of its own."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor


def devices_of(gpus):
    """How many devices so many parts of a host share: CUDA_VISIBLE_DEVICES=0,0,1,1 names each twice."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return len({name.strip() for name in seen.split(",")[:gpus]}) if seen and gpus > 1 else gpus


def part_of_host(gpu, gpus):
    """What a command begins with, and its environment, where it is to have this GPU of so many."""
    if gpus == 1:
        return [], dict(os.environ)
    cores = sorted(os.sched_getaffinity(0))[gpu::gpus]
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    name = seen.split(",")[gpu] if seen else str(gpu)
    prefix = ["taskset", "-c", ",".join(map(str, cores))] if cores else []
    return prefix, {**os.environ, "CUDA_VISIBLE_DEVICES": name}


def share(jobs, gpus, work, is_over):
    """Calls work(job, gpu) for all jobs, in order, as GPUs are free; begins none when is_over() says so."""
    jobs, lock = list(jobs), threading.Lock()

    def serve(gpu):
        while True:
            with lock:
                if jobs and is_over():
                    print("the time is over; the same command goes on with the others", flush=True)
                    jobs.clear()
                if not jobs:
                    return
                job = jobs.pop(0)
            try:
                work(job, gpu)
            except BaseException as error:
                print("failed: %s" % error, flush=True)
                with lock:
                    jobs.clear()  # the others end with what they have begun
                raise

    with ThreadPoolExecutor(gpus) as pool:
        for each in [pool.submit(serve, gpu) for gpu in range(gpus)]:
            each.result()
