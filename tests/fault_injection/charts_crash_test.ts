// The real program with `kill -9` between logins: the charts match the history, by outcome and by client.

import { assertEquals } from "@std/assert";
import { CODES } from "../support/radius_packets.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";

const PASSWORD = "a long password for the owner";
const SECRET = "a secret of the chart test";
const client = (name: string) => `
[[radius.client]]
name = "${name}"
address = ["127.0.0.1"]
nas_identifier = "${name}"
secret = "${SECRET}"
`;
const CLIENTS = ["vpn-1", "vpn-2"] as const;
const ENDS = ["accepted", "rejected", "cancelled", "superseded"] as const;
const patience = { timeoutMs: 4000, tries: 3 } as const;
let nasPort = 0;

/** One complete login; cancelled and superseded ones leave a pending login. */
async function login(world: ProgramWithServices, end: typeof ENDS[number], name: string): Promise<void> {
  using radius = world.gateway.client();
  const who = {
    userName: "dora",
    nasPort: ++nasPort,
    more: [{ type: 32, value: new TextEncoder().encode(name) }],
  };
  const challenge = await radius.ask({ ...who, password: "x" }, patience);
  assertEquals(challenge.code, CODES.accessChallenge);
  if (end === "superseded") {
    await radius.ask({ ...who, password: "another" }, patience);
    return;
  }
  const request = world.secondFactor.initiated().at(-1)?.id ?? "";
  if (end !== "cancelled") world.secondFactor.decide(request, { granted: end === "accepted" });
  const password = end === "cancelled" ? "cancel" : "";
  await radius.ask({ ...who, password, state: challenge.state ?? undefined }, patience);
}

async function console({ gateway }: ProgramWithServices) {
  const response = await fetch(`${gateway.httpUrl}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", "origin": gateway.httpUrl },
    body: JSON.stringify({ name: "owner", password: PASSWORD }),
  });
  await response.body?.cancel();
  const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  return async (path: string) => {
    const answer = await fetch(`${gateway.httpUrl}/console/api${path}`, { headers: { cookie } });
    return await answer.json();
  };
}

function counted(names: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(names.toSorted(), (name) => name)].map(([name, all]) => [name, all.length]),
  );
}

/** The counts of the history, and the sums of the charts, by the minute and by the hour. */
async function sums(world: ProgramWithServices) {
  const api = await console(world);
  const history: { outcome: string; client: string }[] = await api("/history/export?format=json");
  const ofHistory = {
    outcomes: counted(history.map(({ outcome }) => outcome)),
    clients: counted(history.map(({ client }) => client)),
  };
  const ofCharts = [];
  for (const hours of [2, 72]) {
    const charts = await api(`/charts?from=${Date.now() - hours * 3_600_000}`);
    const outcomes = Object.entries<number[]>(charts.outcomes).map(([name, counts]) =>
      [name, counts.reduce((sum, count) => sum + count, 0)] as const
    );
    ofCharts.push({
      outcomes: Object.fromEntries(outcomes.filter(([, total]) => total > 0).toSorted()),
      clients: Object.fromEntries(
        (charts.clients as { client: string; total: number }[]).map(({ client, total }) => [client, total])
          .toSorted(),
      ),
    });
  }
  return { ofHistory, ofCharts };
}

Deno.test("charts match the history after kill -9 during logins", async () => {
  await using world = await startProgramWithServices({
    toml: `${CLIENTS.map(client).join("")}
[[console.admin]]
name = "owner"
password = "${PASSWORD}"
role = "owner"
[factors.pushes]
per_user = 1000`,
    pairings: [["dora", { kind: "device", id: "phone-of-dora", totpLength: 6 }]],
  });
  for (let crash = 0; crash < 2; crash++) {
    for (const name of CLIENTS) for (const end of ENDS) await login(world, end, name);
    // A read writes the counts so far; later counts are lost with the process.
    if (crash === 1) await sums(world);
    await login(world, "accepted", "vpn-1");
    using radius = world.gateway.client();
    for (let count = 0; count < 5; count++) {
      const more = [{ type: 32, value: new TextEncoder().encode("vpn-2") }];
      await radius.sendRaw(radius.build({ userName: "dora", password: "x", nasPort, more }).bytes);
    }
    await world.gateway.kill9();
    await world.gateway.restart();
    const { ofHistory, ofCharts } = await sums(world);
    for (const charts of ofCharts) assertEquals(charts, ofHistory, `after crash ${crash + 1}`);
  }
  const { ofHistory } = await sums(world);
  assertEquals(Object.keys(ofHistory.outcomes), ["accepted", "cancelled", "rejected", "superseded"]);
});
