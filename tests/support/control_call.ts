// Calls of the console API over the control socket of a running program, as the commands make them.

import { assertEquals } from "@std/assert";

/** A change over the control socket, as the commands make it. */
export async function askControl<T>(
  dataDir: string,
  path: string,
  json: unknown,
  { method = "POST" }: { method?: "POST" | "PUT" | "GET" } = {},
): Promise<T> {
  const proxy = { transport: "unix", path: `${dataDir}/control.sock` } as const;
  using client = Deno.createHttpClient({ proxy, poolMaxIdlePerHost: 0, http2: false });
  const init: RequestInit & { readonly client: Deno.HttpClient } = {
    method,
    ...method === "GET"
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(json) },
    client,
  };
  const response = await fetch(`http://localhost/console/api${path}`, init);
  const text = await response.text();
  assertEquals(response.status, 200, text);
  return JSON.parse(text) as T;
}
