// Attack: texts and calls to numbers from which the attacker earns, with a new name and a new number each time.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";

const PATIENCE = { timeoutMs: 10_000, tries: 1 };
const ANY = '[factors]\nphone_numbers = "any"\n';
let nasPort = 0;

/** Requests a message to `number` as `userName`. */
async function order(
  { gateway }: ProgramWithServices,
  what: { userName: string; letter: "T" | "P"; number: string },
) {
  using client = gateway.client();
  const { userName, letter, number } = what;
  const login = { userName, nasPort: ++nasPort };
  const menu = await client.ask({ ...login, password: "" }, PATIENCE);
  const ask = await client.ask({ ...login, password: letter, state: menu.state ?? undefined }, PATIENCE);
  await client.ask({ ...login, password: number, state: ask.state ?? undefined }, PATIENCE);
}

function orders(
  world: ProgramWithServices,
  { count, prefix }: { count: number; prefix: string },
): Promise<unknown> {
  return Promise.all(
    Array.from(
      { length: count },
      (_, at) =>
        order(world, { userName: `${prefix}${at}`, letter: "T", number: `+4915112345${100 + nasPort + at}` }),
    ),
  );
}

Deno.test("all sends together have an hourly limit that a restart does not reset, and the reached limit is shown", async () => {
  await using world = await startProgramWithServices({ toml: `${ANY}[factors.sends]\ntotal_per_hour = 7` });
  const { gateway, telephony } = world;
  await orders(world, { count: 12, prefix: "ghost" });
  assertEquals(telephony.requests.length, 7);
  await gateway.logged("factors.sends.total_per_hour is reached");
  assertStringIncludes(await gateway.logged("not sent: text"), "reason=total_limit");
  assertEquals(await gateway.metric("sends_total"), 7);
  assertEquals(await gateway.metric("sends_refused_total_limit_total"), 5);
  await gateway.restart();
  await orders(world, { count: 3, prefix: "later" });
  assertEquals(telephony.requests.length, 7);
  assertEquals(await gateway.metric("sends_last_hour"), 7);
  assertEquals(await gateway.metric("sends_limit_per_hour"), 7);
});

Deno.test("sends have an hourly limit per client", async () => {
  await using world = await startProgramWithServices({
    toml: `${ANY}[factors.sends]\nper_client_per_hour = 4`,
  });
  await orders(world, { count: 8, prefix: "ghost" });
  assertEquals(world.telephony.requests.length, 4);
  await world.gateway.logged("factors.sends.per_client_per_hour is reached");
});

Deno.test("satellite and premium-rate numbers receive nothing, and a call carries no message of the caller", async () => {
  await using world = await startProgramWithServices({ toml: ANY });
  const { telephony } = world;
  for (const number of ["+870773123456", "+881612345678", "+882161234567", "+979123456789"]) {
    await order(world, { userName: "ghost", letter: "T", number });
    await order(world, { userName: "ghost", letter: "P", number });
  }
  assertEquals(telephony.requests.length, 0);
  const scam = "Please call your bank at +1 900 555 0199 now";
  await order(world, { userName: scam, letter: "P", number: "+4915112345678" });
  await order(world, { userName: "19005550199", letter: "P", number: "+4915112345679" });
  await order(world, { userName: "carol", letter: "P", number: "+4915112345670" });
  const intros = telephony.requests.map(({ spoken }) => spoken[0] ?? "");
  assert(intros[0]?.includes("The passcode of this user for"));
  assert(intros[1]?.includes("The passcode of this user for"));
  // The specification: the sentence names the user. A plain login name carries no message.
  assert(intros[2]?.includes("The passcode of carol for"));
});
