"""Autotuned launches: which configuration a recording takes.

Nothing is timed while recording, so the request chooses. A **tuning** is one autotuned kernel under
one key: Triton chooses a configuration for each. They are numbered in the order in which they first
have several configurations to choose from, after the kernel's own pruning.

What is recorded around a launch is what Triton does around a launch in the chosen configuration. The
tuner's pre_hook (reset_to_zero or the user's, with `reset_only`) runs once for each key, before the
first such launch. The configuration's pre_hook always runs. restore_value and post_hook belong to the
timing runs, of which a recording has none.
"""

from triton.runtime.autotuner import Config

MAX_TEXT = 200  # characters of a configuration as people read it


class Tunings:
    """The choices of one recording. `choice[i]` is the configuration that tuning i takes, 0 where
    it says nothing. `listed` is what the reply says of them."""

    def __init__(self, recorder, choice):
        self.recorder, self.choice = recorder, list(choice)
        self.listed = []

    def run(self, tuner, args, kwargs):
        """In place of Autotuner.run."""
        tuner.nargs = dict(zip(tuner.arg_names, args))
        config, is_new = self._configuration(tuner, kwargs)
        tuner.best_config = config
        everything = {**tuner.nargs, **kwargs, **config.all_kwargs()}
        if is_new:
            tuner.pre_hook(everything, reset_only=True)
        if config.pre_hook is not None:
            config.pre_hook(everything)
        result = tuner.fn.run(*args, **kwargs, **config.all_kwargs())
        tuner.nargs = None
        return result

    def _configuration(self, tuner, kwargs):
        """(configuration, whether its key is met for the first time)."""
        if len(tuner.configs) == 1:
            return tuner.configs[0], False
        key = _key(tuner, kwargs)
        if key in tuner.cache:
            return tuner.cache[key], False
        name = tuner.base_fn.__qualname__
        found = list(tuner.prune_configs(kwargs))
        if not found or not all(isinstance(config, Config) for config in found):
            self.recorder.refuse("unsupported", "prune_configs_by of kernel %s gives no list of "
                                 "triton.Config, or an empty one" % name)
        index = 0
        if len(found) > 1:
            number = len(self.listed)
            # A choice made for other configurations than these: the reply shows which they are.
            index = self.choice[number] % len(found) if number < len(self.choice) else 0
            self.listed.append({"kernel": name, "configurations": [_text(c) for c in found]})
        tuner.cache[key] = found[index]
        return found[index], True


def _key(tuner, kwargs):
    """Triton's own key of a launch (Autotuner.run)."""
    given = {name: value for name, value in {**tuner.nargs, **kwargs}.items()
             if name in tuner.arg_names}
    key = [given[name] for name in tuner.keys if name in given]
    key += [str(value.dtype) for value in given.values() if hasattr(value, "dtype")]
    return tuple(key)


def _text(config):
    """`BLOCK=128, num_warps=4, num_stages=3`."""
    parts = ["%s=%s" % (name, getattr(value, "__name__", value))
             for name, value in config.all_kwargs().items() if (name, value) != ("num_ctas", 1)]
    return ", ".join(parts)[:MAX_TEXT]
