// Finding 21: the cookie of a phone alone added factors on the user's own page, and these stayed when the phone was revoked.

import { assertEquals } from "@std/assert";
import { CONSOLE, createCaller, startSecured } from "./console_caller.ts";

const ADDITIONS = ["/me/api/totp", "/me/api/devices/invitation", "/me/api/recovery-codes"] as const;

Deno.test("a visit that a phone opened adds no factor without a code, and a code counts once", async () => {
  await using site = await startSecured();
  await site.createUser("bob");
  const { link } = await site.owner.take<{ link: string }>(`${CONSOLE}/users/bob/invitation`, { json: {} });
  const phone = createCaller(site.gateway);
  const { pairingId } = await phone.take<{ pairingId: string }>("/device/api/invitation/accept", {
    json: { invitation: link.split("invite=")[1] },
  });
  await phone.take("/me/api/session", { json: { phone: true } });
  const stepUp = (code: string) => phone.call("/me/api/session/step-up", { json: { code } });
  const add = () => Promise.all(ADDITIONS.map(async (path) => (await phone.call(path, { json: {} })).code));
  assertEquals(await add(), ADDITIONS.map(() => "me_step_up"));
  assertEquals((await phone.call("/me/api/totp/confirm", { json: { code: "123456" } })).code, "me_step_up");

  const { code } = await phone.take<{ code: string }>(`/device/api/pairings/${pairingId}/passcode`, {
    json: {},
  });
  const wrong = code === "000000" ? "000001" : "000000";
  assertEquals((await stepUp(wrong)).code, "wrong_me_code");
  assertEquals(await add(), ADDITIONS.map(() => "me_step_up"));
  assertEquals((await stepUp(code)).status, 200);
  assertEquals(await add(), ["", "", ""]);

  // Another visit of the same phone begins without a code, and the used one counts no more.
  await phone.take("/me/api/session", { json: { phone: true } });
  assertEquals((await stepUp(code)).code, "wrong_me_code");
  assertEquals(await add(), ADDITIONS.map(() => "me_step_up"));
});

Deno.test("the user is told on the phone's page and on /me that a factor was added, until it is confirmed", async () => {
  await using site = await startSecured();
  await site.createUser("bob");
  const { link } = await site.owner.take<{ link: string }>(`${CONSOLE}/users/bob/invitation`, { json: {} });
  const phone = createCaller(site.gateway);
  await phone.take("/device/api/invitation/accept", { json: { invitation: link.split("invite=")[1] } });
  await site.owner.take(`${CONSOLE}/users/bob/pairings`, { json: { kind: "sms", number: "+14155550123" } });
  const told = async () => {
    const { notices } = await phone.take<Told>("/device/api/view");
    return notices.map(({ what, by, userName }) => `${what} ${by} ${userName}`);
  };
  assertEquals(await told(), ["sms administrator bob", "device phone bob"]);
  await phone.take("/me/api/session", { json: { phone: true } });
  assertEquals((await phone.take<Told>("/me/api/factors")).notices.length, 2);
  // The phone alone does not hide it.
  assertEquals((await phone.call("/me/api/notices", { method: "DELETE" })).code, "me_step_up");
  const { url } = await site.owner.take<{ url: string }>(`${CONSOLE}/users/bob/me-link`, { json: {} });
  const visitor = createCaller(site.gateway);
  await visitor.take("/me/api/session", { json: { link: url.split("#")[1] } });
  await visitor.take("/me/api/notices", { method: "DELETE" });
  assertEquals(await told(), []);
});

interface Told {
  readonly notices: readonly { readonly what: string; readonly by: string; readonly userName: string }[];
}
