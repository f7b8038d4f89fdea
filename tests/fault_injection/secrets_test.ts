// Plants every kind of secret in the real program, and logs in with every factor. No secret may appear in its log, its
// pages, or in clear text in its data directory.

import { assert, assertEquals } from "@std/assert";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { totpAt } from "../../radius/factors/totp.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { findSecrets, holdsText } from "./secret_search.ts";

const PLANTED = {
  "shared secret": "planted-shared-secret-7261",
  "consumer secret": "planted-consumer-secret-9917",
  "telephony token": "planted-telephony-token-5540",
  "console password": "planted-console-password-3382",
  "user's password": "planted-user-password-1108",
  "wrong passcode": "planted-wrong-passcode-6027",
} as const;
const SEED = new TextEncoder().encode("planted-totp-seed-20");

interface Played {
  readonly seen: Readonly<Record<string, Uint8Array>>;
  /** The output of the program, by place. */
  readonly written: Readonly<Record<string, Uint8Array>>;
}

/** Logs in with every factor, rightly and wrongly; returns the secrets that were created. */
async function logIn(
  { gateway, secondFactor, telephony }: ProgramWithServices,
): Promise<Record<string, Uint8Array>> {
  using client = gateway.client();
  const utf8 = new TextEncoder();
  const seen: Record<string, Uint8Array> = {};
  const start = (userName: string) => client.ask({ userName, password: PLANTED["user's password"] });
  const answer = (userName: string, reply: Reply, password: string) =>
    client.ask({ userName, password, state: reply.state ?? undefined }, { timeoutMs: 4000, tries: 1 });
  const noteToken = (name: string, { state }: Reply) => {
    const token = new TextDecoder().decode(state ?? undefined).split(".")[1] ?? "";
    assertEquals(token.length, 22);
    seen[`State token of ${name}`] = utf8.encode(token);
  };

  const dora = await start("dora");
  noteToken("dora", dora);
  secondFactor.decide(secondFactor.initiated().at(-1)?.id ?? "", { granted: true });
  assertEquals((await answer("dora", dora, "")).code, CODES.accessAccept);

  for (const [user, number] of [["sam", "+15005550010"], ["vera", "+15005550011"]] as const) {
    const asked = await start(user);
    noteToken(user, asked);
    const passcode = telephony.lastPasscode(number) ?? "";
    // Four digits occur everywhere; the six of a text do not.
    if (passcode.length >= 6) seen[`passcode of ${user}`] = utf8.encode(passcode);
    assertEquals((await answer(user, asked, passcode)).code, CODES.accessAccept);
  }
  const wrong = await start("sam");
  assertEquals((await answer("sam", wrong, PLANTED["wrong passcode"])).code, CODES.accessReject);

  const tom = await start("tom");
  noteToken("tom", tom);
  const code = totpAt(SEED, Math.floor(Date.now() / 30_000), 6);
  seen["code of tom"] = utf8.encode(code);
  assertEquals((await answer("tom", tom, code)).code, CODES.accessAccept);

  // A login that does not end: its record is the last one that is written.
  noteToken("the one that is left", await start("nobody"));
  return seen;
}

async function filesIn(path: string): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for await (const { name, isFile } of Deno.readDir(path)) {
    if (isFile) files[`data directory: ${name}`] = await Deno.readFile(`${path}/${name}`);
  }
  return files;
}

async function play(): Promise<Played> {
  await using world = await startProgramWithServices({
    toml: `
[server]
log_level = "debug"
[radius]
secret = "${PLANTED["shared secret"]}"
[[console.admin]]
name = "owner"
password = "${PLANTED["console password"]}"
role = "owner"
`,
    consumerSecret: PLANTED["consumer secret"],
    authToken: PLANTED["telephony token"],
    pairings: [
      ["dora", { kind: "device", id: "phone-of-dora", totpLength: 6 }],
      ["sam", { kind: "sms", number: "+15005550010" }],
      ["vera", { kind: "voice", number: "+15005550011" }],
      ["tom", { kind: "totp", seed: SEED }],
    ],
  });
  const { gateway } = world;
  const seen = await logIn(world);
  const pages = await Promise.all(
    ["metrics", "readyz", "healthz", "", "api/nothing"].map(async (path) =>
      [`/${path}`, new Uint8Array(await (await fetch(`${gateway.httpUrl}/${path}`)).arrayBuffer())] as const
    ),
  );
  // Killed first, so that the files keep the state of a running program. Then started and stopped normally.
  await gateway.kill9();
  const afterCrash = await filesIn(gateway.dataDir);
  await gateway.restart();
  await gateway.stop();
  const log = new TextEncoder().encode(gateway.logLines().join("\n"));
  const renamed = Object.entries(afterCrash).map(([name, octets]) =>
    [`${name} after kill -9`, octets] as const
  );
  return {
    seen,
    written: {
      "log and standard output": log,
      ...Object.fromEntries(pages),
      ...await filesIn(gateway.dataDir),
      ...Object.fromEntries(renamed),
    },
  };
}

Deno.test("no secret is in log, standard output, metrics or pages, nor in clear in the data directory", async () => {
  const { seen, written } = await play();
  const masterKey = written["data directory: master.key"] ?? new Uint8Array(0);
  assert(masterKey.length >= 64 && Object.keys(written).some((name) => name.includes("countersign.kv")));
  assert(holdsText(written["log and standard output"] ?? new Uint8Array(0), "dora"));
  const secrets: Record<string, Uint8Array> = {
    ...Object.fromEntries(
      Object.entries(PLANTED).map(([name, text]) => [name, new TextEncoder().encode(text)]),
    ),
    "TOTP seed": SEED,
    "master key": Uint8Array.fromHex(new TextDecoder().decode(masterKey).trim()),
    ...seen,
  };
  const found = findSecrets(secrets, Object.entries(written))
    .filter(({ secret, place }) => !(secret === "master key" && place.includes("master.key")));
  assertEquals(found, []);
});
