// A change to Deno KV, as the store writes it.

export type KvMutation =
  | { type: "set"; key: Deno.KvKey; value: unknown; expireInMs?: number }
  | { type: "delete"; key: Deno.KvKey };
