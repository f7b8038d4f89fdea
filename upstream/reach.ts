// Asks whether anything answers at an address: for services that have no harmless call.

/** What came of asking; `detail` is for an administrator. */
export interface Reached {
  readonly ok: boolean;
  readonly detail: string;
}

/** Sends nothing to anybody: a HEAD of the service's address; any answer but a failure of the server is good. `null` without an address. */
export function createReach(
  { url, timeoutMs }: { url: string; timeoutMs: number },
  { fetch }: { fetch: (url: string, init: RequestInit) => Promise<Response> },
): (() => Promise<Reached>) | null {
  if (url === "") return null;
  return async () => {
    try {
      const answer = await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(timeoutMs) });
      await answer.body?.cancel();
      return { ok: answer.status < 500, detail: `It answered with status ${answer.status}.` };
    } catch (_unreachable) {
      return { ok: false, detail: "It did not answer." };
    }
  };
}
