// Limits files that are being downloaded, for each administrator: a slow reader of an export holds its source open.

import type { MiddlewareHandler } from "hono";
import { Refusal } from "./errors.ts";
import type { HttpEnv } from "./hono_env.ts";

/** Downloads in progress of one administrator, with all sessions and tokens. */
const MAX_PER_PERSON = 4;

export function createDownloadLimit(): MiddlewareHandler<HttpEnv> {
  const open = new Map<string, number>();
  return async (c, next) => {
    await next();
    const { body, headers } = c.res;
    if (body === null || !headers.has("content-disposition")) return;
    const { personId } = c.var.session;
    const count = open.get(personId) ?? 0;
    if (count >= MAX_PER_PERSON) {
      await body.cancel();
      throw new Refusal("too_many_streams", { "retry-after": "10" });
    }
    open.set(personId, count + 1);
    const release = () => {
      const left = (open.get(personId) ?? 1) - 1;
      if (left > 0) open.set(personId, left);
      else open.delete(personId);
    };
    c.res = new Response(whileRead(body, release), c.res);
  };
}

/** The same body. Calls `release` once, when it was read to its end, failed, or its reader left. */
function whileRead(body: ReadableStream<Uint8Array<ArrayBuffer>>, release: () => void) {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        release();
        controller.close();
      } catch (fault) {
        release();
        controller.error(fault);
      }
    },
    async cancel(reason) {
      release();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
