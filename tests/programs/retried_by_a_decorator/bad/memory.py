import functools
import gc
import inspect

import torch


def is_oom(exception: Exception) -> bool:
    text = str(exception)
    return isinstance(exception, RuntimeError) and ("CUDA out of memory" in text or "DefaultCPUAllocator" in text)


def find_executable_batch_size(function=None, starting_batch_size: int = 128):
    if function is None:
        return functools.partial(find_executable_batch_size, starting_batch_size=starting_batch_size)

    @functools.wraps(function)
    def attempt(batch_size, *args, **kwargs):
        if batch_size == 0:
            raise RuntimeError("No executable batch size found, reached zero.")
        try:
            return function(batch_size, *args, **kwargs)
        except Exception as e:
            if not is_oom(e):
                raise
            gc.collect()
            torch.cuda.empty_cache()
            return attempt(batch_size // 2, *args, **kwargs)  # expect: TML111

    return functools.partial(attempt, starting_batch_size)
