// The push subscription of a phone, below /device/api/push.

import { Hono, type MiddlewareHandler } from "hono";
import * as v from "valibot";
import { DEVICE_KIND_HEADER, deviceKind } from "../../../platform/device_label.ts";
import type { PhonePages } from "../../../upstream/embedded/push/phone_pages.ts";
import type { PushProblemCode } from "../../../upstream/embedded/push/push_exchange.ts";
import type { PushChange, PushTestResult } from "../../../upstream/embedded/push/push_notifications.ts";
import { Refusal } from "../errors.ts";
import { agentOf, EMPTY, type HttpEnv, jsonBody } from "../hono_env.ts";
import { phoneToken, requirePhoneToken } from "./phone_cookie.ts";

const keyText = v.pipe(v.string(), v.minLength(1), v.maxLength(256));
/** `PushSubscription.toJSON()`, with members that the gateway does not use. */
const SUBSCRIPTION = v.object({
  endpoint: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)),
  keys: v.object({ p256dh: keyText, auth: keyText }),
});

interface PushApiDeps {
  /** `null`: no push messages. */
  readonly pages: () => PhonePages | null;
}

export function createPushApi({ pages }: PushApiDeps) {
  const required = (): PhonePages => {
    const current = pages();
    if (current === null) throw new Refusal("push_off");
    return current;
  };
  return new Hono<HttpEnv>()
    .get("/", (c) => {
      const view = required().pushView(requirePhoneToken(c));
      if (view === null) throw new Refusal("unknown_token");
      return c.json(view);
    })
    .post(
      "/",
      jsonBody(SUBSCRIPTION),
      async (c) => c.json(doneOf(await required().subscribe(requirePhoneToken(c), c.req.valid("json")))),
    )
    .delete("/", async (c) => c.json(doneOf(await required().unsubscribe(requirePhoneToken(c)))))
    .post(
      "/test",
      jsonBody(EMPTY),
      async (c) => c.json(testResult(await required().testOwn(requirePhoneToken(c)))),
    );
}

/** The answer about a test message. @throws Refusal if none was sent. */
export function testResult(result: PushTestResult): { delivered: boolean; problem: PushProblemCode | null } {
  if (result.ok) return { delivered: true, problem: null };
  const { fault } = result;
  if (typeof fault === "object") return { delivered: false, problem: fault.code };
  throw new Refusal(fault === "replaced" ? "too_many_tries" : fault);
}

function doneOf(change: PushChange): { done: true } {
  if (!change.ok) throw new Refusal(change.reason);
  return { done: true };
}

/** Records that the phone used its page. The request does not wait for it. */
export function noteUses({ pages }: PushApiDeps): MiddlewareHandler<HttpEnv> {
  return (c, next) => {
    const token = phoneToken(c);
    const kind = deviceKind(agentOf(c), c.req.header(DEVICE_KIND_HEADER));
    if (token !== "") void pages()?.seen(token, kind);
    return next();
  };
}
