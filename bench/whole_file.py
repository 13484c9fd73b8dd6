"""Results on disk: a reader, or a run that goes on, finds the file of before or all of the new one."""


def write_whole(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text)
    part.rename(path)
