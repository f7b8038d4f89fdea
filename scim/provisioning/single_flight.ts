// One run at a time: who asks while one is under way waits, with all others who ask meanwhile, for the next.

/** `run` starts now, or joins the run that starts after the one under way. */
export function createTurns<T>(): (run: () => Promise<T>) => Promise<T> {
  let current: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  const start = (run: () => Promise<T>): Promise<T> => {
    const started = run().finally(() => {
      if (current === started) current = null;
    });
    current = started;
    return started;
  };
  return (run) => {
    if (current === null) return start(run);
    next ??= current.then(() => undefined, () => undefined).then(() => {
      next = null;
      return start(run);
    });
    return next;
  };
}
