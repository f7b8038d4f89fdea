// The embedded telephony outbox: who was sent something, and, for owners, what.

import { Hono } from "hono";
import * as v from "valibot";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { OutboxItem, OutboxMessages } from "../../../upstream/embedded/telephony/outbox.ts";
import { maskPhoneNumber } from "../../../platform/phone_number.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";

export interface OutboxRouteDeps {
  readonly outbox: OutboxMessages | null;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export function createOutboxRoutes(deps: OutboxRouteDeps) {
  const { outbox, store, log } = deps;
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), (c) => {
      if (outbox === null) throw new Refusal("no_outbox");
      return c.json({ items: maskedItems(outbox) });
    })
    .post("/:id/reveal", may("owner", { stepUp: true }), jsonBody(v.strictObject({})), async (c) => {
      if (outbox === null) throw new Refusal("no_outbox");
      const id = c.req.param("id");
      const item = outbox.items().find((one) => one.id === id);
      if (item === undefined) throw new Refusal("message_gone");
      const actor = c.var.session.admin.name;
      const source = c.env.remoteAddress;
      // Written before the text is read: what cannot be recorded is not shown.
      await store.commit({
        mutations: [
          auditEntry({
            actor,
            source,
            action: "outbox.reveal",
            object: `message:${id}`,
            after: maskPhoneNumber(item.to),
          }),
        ],
      });
      log.warn("an owner read a message of the outbox", {
        admin: actor,
        message: id,
        to: maskPhoneNumber(item.to),
        source,
      });
      const said = await outbox.reveal(id);
      if (said === null) throw new Refusal("message_gone");
      return c.json({ body: said });
    });
}

/** The messages with masked numbers, as the console shows numbers everywhere. */
export function maskedItems(outbox: OutboxMessages): OutboxItem[] {
  return outbox.items().map((item) => ({ ...item, to: maskPhoneNumber(item.to) }));
}
