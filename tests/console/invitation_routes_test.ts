// Invitations for phones, and the preferred factor, through the administration API.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { valueOf } from "../../cli/admin_connection.ts";
import { openComposition } from "../fakes/composition.ts";

const HOUR_MS = 3_600_000;

Deno.test("POST /users/:id/invitation gives a link for the phone page, its end, and records no part of the invitation", async () => {
  await using gateway = await openComposition('[http]\npublic_url = "https://vpn.example.com"\n');
  const invited = gateway.api.users[":id"].invitation.$post({ param: { id: "ann" }, json: {} });
  const { link, deadlineMs } = await valueOf(invited);
  assertMatch(link, /^https:\/\/vpn\.example\.com\/device#invite=[\w-]{22}$/);
  assertEquals(deadlineMs, gateway.clock.nowMs() + 24 * HOUR_MS);
  const [record] = await gateway.audits();
  assertEquals([record?.action, record?.object, record?.how], ["invitation.make", "user:ann", "command"]);
  assert(!(await gateway.dump()).includes(link.split("=")[1] ?? "missing"));
});

Deno.test("PUT /users/:id/preference sets and clears the preferred factor, over a restart", async () => {
  await using gateway = await openComposition();
  const prefer = (id: string, factor: "voice" | null) =>
    valueOf(gateway.api.users[":id"].preference.$put({ param: { id }, json: { factor } }));
  const preferred = async () => [
    gateway.radius.pairings.preferred("ann"),
    (await gateway.reload()).preferred("ann"),
  ];
  await prefer("Ann", "voice");
  assertEquals(await preferred(), ["voice", "voice"]);
  await prefer("ann", null);
  assertEquals(await preferred(), [null, null]);
  assertEquals((await gateway.audits()).map(({ action, before, after }) => [action, before, after]), [
    ["preference.set", undefined, "voice"],
    ["preference.set", "voice", undefined],
  ]);
});
