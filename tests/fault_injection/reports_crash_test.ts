// The real program with a GeoIP database and `kill -9` after a login: the reports know the country, and the last sign-in of the user.

import { assertEquals } from "@std/assert";
import { stringify } from "smol-toml";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { mmdbFile } from "../fakes/mmdb_file.ts";
import { CODES } from "../support/radius_packets.ts";

const PASSWORD = "a long password for the owner";
const NAME = "dora";
const patience = { timeoutMs: 4000, tries: 3 } as const;

async function login(world: ProgramWithServices, callingStationId: string): Promise<void> {
  using radius = world.gateway.client();
  const who = { userName: NAME, callingStationId };
  const challenge = await radius.ask({ ...who, password: "x" }, patience);
  world.secondFactor.decide(world.secondFactor.initiated().at(-1)?.id ?? "", { granted: true });
  const state = challenge.state ?? undefined;
  const reply = await radius.ask({ ...who, password: "", state }, patience);
  assertEquals(reply.code, CODES.accessAccept);
}

async function openApi({ gateway }: ProgramWithServices) {
  const response = await fetch(`${gateway.httpUrl}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", "origin": gateway.httpUrl },
    body: JSON.stringify({ name: "owner", password: PASSWORD }),
  });
  await response.body?.cancel();
  const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  return async (path: string, json?: unknown) => {
    const answer = await fetch(`${gateway.httpUrl}/console/api${path}`, {
      headers: { cookie, "origin": gateway.httpUrl, "content-type": "application/json" },
      ...(json === undefined ? {} : { method: "POST", body: JSON.stringify(json) }),
    });
    return await answer.json();
  };
}

/** The enrolment report, once it has counted the user. */
async function neverSignedIn(api: (path: string) => Promise<{ report: { neverSignedIn: number } | null }>) {
  for (let tries = 0; tries < 100; tries++) {
    const { report } = await api("/reports/enrolment");
    if (report !== null) return report.neverSignedIn;
  }
  throw new Error("No report");
}

Deno.test("the reports know country and last sign-in of a login before kill -9", async () => {
  const folder = await Deno.makeTempDir();
  const database = `${folder}/country.mmdb`;
  const networks = { "198.51.100.0/24": { country: { iso_code: "DE" } } };
  await Deno.writeFile(database, mmdbFile({ networks }));
  await using world = await startProgramWithServices({
    toml: stringify({
      geoip: { database },
      console: { admin: [{ name: "owner", password: PASSWORD, role: "owner" }] },
    }),
    pairings: [[NAME, { kind: "device", id: "phone-of-dora", totpLength: 6 }]],
  });
  const created = await (await openApi(world))("/users", { user: { userName: NAME } });
  assertEquals(created.error, undefined);
  await login(world, "198.51.100.7");
  await world.gateway.kill9();
  await world.gateway.restart();
  const api = await openApi(world);
  const { countries, networks: found, geoIp } = await api("/reports/breakdown");
  assertEquals(countries.map(({ name, accepted }: Record<string, unknown>) => [name, accepted]), [["DE", 1]]);
  assertEquals([found, geoIp.files.map(({ problem }: Record<string, unknown>) => problem)], [[], [null]]);
  const { items } = await api("/history?country=DE");
  const details = await api(`/live/logins/${items[0].id}`);
  assertEquals(details.location, { country: "DE", asn: null, network: null });
  assertEquals(await neverSignedIn(api), 0);
  await Deno.remove(folder, { recursive: true });
});
