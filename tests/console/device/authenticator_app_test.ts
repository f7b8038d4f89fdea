// The card that sets up an authenticator app on the page of an invitation: its states, and what it sends.

import { signal } from "@preact/signals";
import { assertEquals } from "@std/assert";
import { h } from "preact";
import type { EnrolledApp } from "../../../console/api/enrolment/invited_app.ts";
import { AuthenticatorApp } from "../../../console/device/authenticator_app.tsx";
import type { PhoneModel } from "../../../console/device/phone_model.ts";
import { openFakePage, rendered } from "../../fakes/dom.ts";

const KEY = { secret: "ABCDEFGHIJKLMNOP", uri: "otpauth://totp/ada?secret=ABCDEFGHIJKLMNOP", qr: null };

/** The card, and what it sent. `key: null`: the invitation is refused. */
async function show({ key = KEY, enrolled }: { key?: typeof KEY | null; enrolled: EnrolledApp | null }) {
  const page = openFakePage();
  const sent: unknown[] = [];
  const events: string[] = [];
  const model = {
    busy: signal(false),
    result: signal({ good: false, text: "The code is wrong." }),
    beginApp: () => Promise.resolve(key),
    confirmApp(invitation: string, proof: unknown) {
      sent.push([invitation, proof]);
      return Promise.resolve(enrolled);
    },
  } as unknown as PhoneModel;
  const props = { model, invitation: "link", userName: "ada" };
  await page.show(h(AuthenticatorApp, {
    ...props,
    onBack: () => events.push("back"),
    onDone: () => events.push("done"),
  }));
  await rendered();
  const code = () => page.root.all("input").find((input) => input.attributes.get("id") === "app-code");
  return {
    ...{ page, sent, events, code },
    async submit(text: string): Promise<void> {
      const field = code();
      if (field !== undefined) Object.assign(field, { value: text }).fire("input");
      await rendered();
      page.root.all("form")[0]?.fire("submit");
      await rendered();
      await rendered();
    },
    [Symbol.asyncDispose]: () => page[Symbol.asyncDispose](),
  };
}

Deno.test("the card sends a code of six digits, whatever the blanks in it, and then empties the field", async () => {
  await using card = await show({ enrolled: null });
  assertEquals(card.page.root.textContent.includes("ABCD EFGH IJKL MNOP"), true);
  await card.submit("12345");
  assertEquals(card.sent, []);
  await card.submit("123 456");
  assertEquals(card.sent, [["link", { code: "123456", recoveryCodes: true }]]);
  assertEquals(card.page.root.all("form").length, 1, "after a wrong code, the form stays");
  assertEquals(card.page.root.textContent.includes("The code is wrong."), true);
  await card.submit("");
  assertEquals(card.sent.length, 1);
});

Deno.test("the card shows the recovery codes once, and ends when they are saved", async () => {
  await using card = await show({ enrolled: { userName: "ada", codes: ["aaaaa-bbbbb", "ccccc-ddddd"] } });
  await card.submit("123456");
  const items = card.page.root.all("li").map(({ textContent }) => textContent);
  assertEquals(items, ["aaaaa-bbbbb", "ccccc-ddddd"]);
  assertEquals(card.page.root.textContent.includes("ABCD EFGH"), false, "the key is gone");
  card.page.root.button("common.codes_saved").fire("click");
  assertEquals(card.events, ["done"]);
});

Deno.test("the card without recovery codes ends at once, and a refused invitation leads back", async () => {
  {
    await using card = await show({ enrolled: { userName: "ada", codes: null } });
    await card.submit("123456");
    card.page.root.button("common.done").fire("click");
    assertEquals(card.events, ["done"]);
  }
  await using refused = await show({ key: null, enrolled: null });
  assertEquals(refused.page.root.all("form").length, 0);
  refused.page.root.button("common.back").fire("click");
  assertEquals(refused.events, ["back"]);
});
