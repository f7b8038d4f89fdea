// A store that says when a key changes. Deno KV has `watch`, but denokv then sends a message for each commit, also to a reader that is busy.

export interface WatchingKv {
  /**
   * Resolves when one of the keys, at most ten, was changed. `onReady` is called when each later change is seen.
   *
   * @throws an error if that cannot be seen, or no key changes within `timeoutMs`
   */
  waitForChange(
    keys: readonly Deno.KvKey[],
    options: { readonly onReady: () => void; readonly timeoutMs: number },
  ): Promise<void>;
}

/** `null` if a store does not say when a key changes. */
export function watchingKv(kv: Deno.Kv): WatchingKv | null {
  return "waitForChange" in kv ? kv as Deno.Kv & WatchingKv : null;
}
