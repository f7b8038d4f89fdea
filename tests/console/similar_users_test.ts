// The hint at a user with a similar name: for a login of an unknown user, and for a refused User-Name.

import { assertEquals } from "@std/assert";
import { buildRequest } from "../support/radius_packets.ts";
import { copyRedacted, dissectPacket } from "../../radius/protocol/dissect_packet.ts";
import { type ConnectConsole, startConnectConsole } from "../fakes/console_connect.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";

const TOML = `[[radius.client]]
name = "strip"
address = ["192.0.2.1"]
secret = "the secret of the file"
strip_realms = ["corp.example"]
`;

async function get(site: ConnectConsole, path: string) {
  const response = await site.call(`/console/api${path}`, { cookie: await site.signIn("viewer") });
  assertEquals(response.status, 200);
  return await response.json();
}

/** The hint in the details of a login. */
async function hintOf(site: ConnectConsole, user: string, { isRejected = true } = {}) {
  const view = conversation(1, { user });
  site.watch.put(
    isRejected ? ended(view, { outcome: "rejected", row: "refused", atMs: view.startedMs }) : view,
  );
  const { similar } = await get(site, `/live/logins/${view.id}`);
  return similar;
}

Deno.test("GET /live/logins/:id names the user whose name an unknown one resembles", async () => {
  await using site = await startConnectConsole({ toml: TOML });
  await site.people.put("alice");
  await site.people.put("bob", { active: false });
  await site.people.put("strasse");
  const realm = { name: "alice", but: "realm", affix: "corp.example" };
  assertEquals(await hintOf(site, "alice@corp.example"), realm);
  assertEquals(await hintOf(site, "alice@corp.example", { isRejected: false }), realm);
  assertEquals(await hintOf(site, "CORP\\bob"), { name: "bob", but: "domain", affix: "CORP" });
  assertEquals(await hintOf(site, "stra\u00dfe"), { name: "strasse", but: "letters", affix: "" });
  for (const user of ["alice", "ALICE", "carol", "carol@corp.example"]) {
    assertEquals(await hintOf(site, user), null, user);
  }
});

Deno.test("GET /live/logins/:id names no similar user for a name that the directory has or had", async () => {
  await using site = await startConnectConsole({ toml: TOML });
  await site.people.put("alice");
  await site.people.put("alice@corp.example");
  assertEquals(await hintOf(site, "alice@corp.example"), null);
  await site.people.target.remove("user", "alice@corp.example", {
    actor: { name: "owner", source: "192.0.2.7" },
  });
  assertEquals(await hintOf(site, "alice@corp.example"), null);
});

/** Adds a packet that was refused outside any login. */
function refuse(
  site: ConnectConsole,
  userName: string,
  { reason = "refused_user_name", client = "vpn-1" } = {},
): void {
  const { bytes } = buildRequest("secret", { userName, password: "planted-password" });
  const target = new Uint8Array(4096);
  const octets = target.subarray(0, copyRedacted(bytes, target, 0));
  const nowMs = Date.now();
  site.watch.stray({
    ...{ id: 1, reason, verdict: reason, client, source: "192.0.2.1", answered: true, inbound: true },
    ...{ atMs: nowMs, lastMs: nowMs, copies: 1, hex: octets.toHex(), rows: dissectPacket(octets) },
  });
}

/** The hints of all refused packets, oldest first. */
async function hints(site: ConnectConsole) {
  const { items } = await get(site, "/live/strays");
  return items.map(({ similar }: { similar: unknown }) => similar).toReversed();
}

Deno.test("GET /live/strays names the user whose name a refused User-Name resembles", async () => {
  await using site = await startConnectConsole({ toml: TOML });
  await site.people.put("alice");
  refuse(site, "alice ");
  refuse(site, "\ufeffalice");
  refuse(site, "alice@corp.example ", { client: "strip" });
  refuse(site, "alice@corp.example ");
  refuse(site, "carol ");
  refuse(site, "alice ", { reason: "chap" });
  refuse(site, "", {});
  assertEquals(await hints(site), [
    { name: "alice", but: "blanks", affix: "" },
    { name: "alice", but: "invisible", affix: "" },
    { name: "alice", but: "blanks", affix: "" },
    { name: "alice", but: "realm", affix: "corp.example" },
    null,
    null,
    null,
  ]);
});

Deno.test("GET /live/strays looks up the newest refused names only, because anyone can send them", async () => {
  await using site = await startConnectConsole({ toml: TOML });
  await site.people.put("alice");
  refuse(site, "alice ");
  for (let number = 0; number < 19; number++) refuse(site, `nobody${number} `);
  refuse(site, "nobody0 ");
  assertEquals((await hints(site))[0]?.name, "alice");
  refuse(site, "nobody19 ");
  assertEquals((await hints(site))[0], null);
});
