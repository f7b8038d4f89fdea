// The name of the phone in the record of a login.

import { assertEquals } from "@std/assert";
import { decodeLoginRecord, historyKey } from "../../../radius/conversation/login_record.ts";
import { startInProcess } from "./in_process.ts";
import { pairPhone } from "./phone.ts";

for (const name of ["Pixel of Anna", null]) {
  Deno.test(`phone name: a login that uses ${name ?? "a phone without one"} shows it during the login and afterwards`, async () => {
    await using world = await startInProcess({ embedded: true });
    const phone = await pairPhone(world, "anna", name);
    const login = world.login({ user: "anna" });
    const prompt = await login.start();
    assertEquals(prompt.message.includes("Pixel"), false, "the prompts are the document's");
    const [view] = world.radius.monitor.conversations(1);
    assertEquals(view?.phone, name ?? undefined);
    await phone.deny();
    await login.answer("");
    const kept = await world.kv.get(historyKey(view?.id ?? ""));
    assertEquals(decodeLoginRecord(kept.value)?.phone, name ?? undefined);
    const told: unknown[] = [];
    for await (const { value } of world.kv.list<Record<string, unknown>>({ prefix: ["audit"] })) {
      if (value.action === "login.rejected") told.push(value.phone);
    }
    assertEquals(told, [name ?? undefined]);
  });
}
