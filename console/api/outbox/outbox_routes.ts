// The embedded telephony outbox: the messages with masked numbers, and, for owners, their text.

import { Hono } from "hono";
import type { Log } from "../../../platform/log.ts";
import type { Store } from "../../../platform/store.ts";
import type { OutboxItem, OutboxMessages } from "../../../upstream/embedded/telephony/outbox.ts";
import { maskPhoneNumber } from "../../../platform/phone_number.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { callerOf, EMPTY, type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";

export interface OutboxRouteDeps {
  readonly outbox: () => OutboxMessages | null;
  readonly store: Store;
  readonly log: Log;
}

export function createOutboxRoutes(deps: OutboxRouteDeps) {
  const { store, log } = deps;
  const required = (): OutboxMessages => {
    const outbox = deps.outbox();
    if (outbox === null) throw new Refusal("no_outbox");
    return outbox;
  };
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), (c) => c.json({ items: maskedItems(required()) }))
    .post("/:id/reveal", may("owner", { recentFactor: true }), jsonBody(EMPTY), async (c) => {
      const outbox = required();
      const id = c.req.param("id");
      const item = outbox.items().find((one) => one.id === id);
      if (item === undefined) throw new Refusal("message_gone");
      const to = maskPhoneNumber(item.to);
      // Recorded first: without an audit record, the text is not shown.
      const entry = { ...callerOf(c), action: "outbox.reveal" as const, object: `message:${id}`, after: to };
      await store.commit({ mutations: [auditEntry(entry)] });
      const { actor: admin, source } = callerOf(c);
      log.warn("an owner read a message of the outbox", { admin, message: id, to, source });
      const body = await outbox.reveal(id);
      if (body === null) throw new Refusal("message_gone");
      return c.json({ body });
    });
}

/** The messages with masked numbers; `null` without the embedded outbox. */
export function outboxList(outbox: OutboxMessages | null): OutboxItem[] | null {
  return outbox === null ? null : maskedItems(outbox);
}

function maskedItems(outbox: OutboxMessages): OutboxItem[] {
  return outbox.items().map((item) => ({ ...item, to: maskPhoneNumber(item.to) }));
}
