// A value that is somewhere else: not asked for, on its way, here, or not to be had.

export type Remote<T> =
  | { readonly kind: "idle" }
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "failed"; readonly message: string };

export const IDLE = { kind: "idle" } as const;
export const LOADING = { kind: "loading" } as const;

/** The value, or `null` while there is none. */
export function valueOf<T>(remote: Remote<T>): T | null {
  return remote.kind === "ready" ? remote.value : null;
}
