// The removal of a mail that its reason no longer needs.

import { assertEquals } from "@std/assert";
import { settle } from "../../support/settle.ts";
import { ACCEPTED, refusedAs } from "../../fakes/mail_transport.ts";
import { inQueue, MINUTE_MS } from "./queue_world.ts";

for (const code of ["recipient_later", "recipient_refused"] as const) {
  Deno.test(`a mail that is removed by its key is gone after ${code}, and others of the user stay`, () =>
    inQueue(async ({ queue, service, store, transport, entries, pass }) => {
      transport.answer = () => refusedAs(code);
      await queue({ about: "user:Ada", key: "enrolment" });
      await queue({ about: "user:Ada" });
      await queue({ about: "user:bob", key: "enrolment" });
      await settle();
      assertEquals((await entries(["mail", "content"])).length, 3);
      await store.commit({ mutations: service.prepareRemoval({ about: "user:ada", key: "enrolment" }) });
      transport.answer = () => ACCEPTED;
      const left = await entries(["mail", "content"]);
      assertEquals(left.map((key) => key[3]).sort(), ["ada", "bob"]);
      await pass(15 * MINUTE_MS);
      assertEquals(transport.accepted.length, code === "recipient_later" ? 2 : 0);
      assertEquals(service.status().waiting, 0);
    }));
}
