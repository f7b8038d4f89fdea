// The banner of a start: commands that can be copied, and secrets only at a terminal.

import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  type BannerFacts,
  bannerText,
  localLink,
  removeSetUpLink,
  unsignedNotes,
  writeFirstStartFile,
} from "../../platform/banner.ts";
import { loadConfig } from "../../platform/config/load.ts";

const SECRET = "a-generated-shared-secret";
const LINK = "http://127.0.0.1:8080/setup#a-token-of-the-link";

function factsOf(toml: string, more: Partial<BannerFacts> = {}): BannerFacts {
  const loaded = loadConfig({ env: () => undefined, readTextFile: () => toml, cwd: "/srv" });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return {
    config: loaded.config,
    radius: [{ hostname: "::", port: 1812 }],
    accounting: [{ hostname: "::", port: 1813 }],
    tls: [],
    http: { hostname: "127.0.0.1", port: 8080 },
    generatedSecret: SECRET,
    hasClients: loaded.config.radius.clients.length > 0,
    setupLink: LINK,
    warnings: [],
    task: "deno task",
    ...more,
  };
}

Deno.test("bannerText() shows the secret and the set-up link only at a terminal", () => {
  const facts = factsOf("");
  for (const secret of [SECRET, LINK]) {
    assertStringIncludes(bannerText(facts, { terminal: true }), secret);
    assertEquals(bannerText(facts, { terminal: false }).includes(secret), false);
  }
});

Deno.test("bannerText() prints the set-up link at a terminal, and names its file elsewhere", () => {
  const facts = factsOf("");
  assertStringIncludes(bannerText(facts, { terminal: true }), `3  open ${LINK}\n`);
  const file = `${facts.config.server.dataDir}/first-start.txt`;
  assertStringIncludes(bannerText(facts, { terminal: false }), `3  open the set-up link in ${file}\n`);
});

Deno.test("bannerText() shows commands in the form that works on this host", () => {
  const text = bannerText(factsOf("", { task: "npx --yes deno@2.9.6 task" }), { terminal: false });
  assertStringIncludes(text, "1  npx --yes deno@2.9.6 task pair ada --invite\n");
  assertStringIncludes(text, "2  npx --yes deno@2.9.6 task try 127.0.0.1:1812 --user ada\n");
});

const CLIENT = `[[radius.client]]\nname = "vpn"\naddress = ["192.0.2.7"]\nsecret = "0123456789abcdef"`;
const EXTERNAL =
  `[second_factor]\nurl = "https://api.example.com"\nconsumer_key = "k"\nconsumer_secret = "s"`;
const CASES = [
  { what: "the generated secret", toml: "", says: "it asks for the RADIUS secret in the file above" },
  { what: "radius.secret", toml: `[radius]\nsecret = "0123456789abcdef"`, says: "it asks for radius.secret" },
  { what: "a client's secret", toml: CLIENT, says: "from a host that is a configured client" },
  { what: "a device of an external service", toml: EXTERNAL, says: "pair ada --device <pairing_id>" },
] as const;
for (const { what, toml, says } of CASES) {
  Deno.test(`bannerText() mentions ${what} where there is one`, () => {
    const generatedSecret = what === "the generated secret" ? SECRET : null;
    assertStringIncludes(bannerText(factsOf(toml, { generatedSecret }), { terminal: false }), says);
  });
}

Deno.test("bannerText() shows a test command with the address that the gateway listens on", () => {
  const facts = factsOf("", { radius: [{ hostname: "2001:db8::1", port: 1645 }] });
  assertStringIncludes(bannerText(facts, { terminal: false }), "try [2001:db8::1]:1645 --user ada");
});

Deno.test("bannerText() links to the console itself when it has an owner", () => {
  const text = bannerText(factsOf("", { setupLink: null }), { terminal: true });
  assertStringIncludes(text, "3  open http://localhost:8080\n");
});

Deno.test("bannerText() refers to a client of the console like one of the file, and shows no generated secret then", () => {
  const facts = factsOf("", { hasClients: true, generatedSecret: null });
  const text = bannerText(facts, { terminal: true });
  assertStringIncludes(text, "from a host that is a configured client, with its secret");
  assertEquals(text.includes("radius.secret") || text.includes("RADIUS secret"), false);
});

Deno.test("bannerText() shows pages with the bound port while http.public_url is not set", () => {
  const text = bannerText(factsOf('[http]\nlisten = "0.0.0.0:9090"', { setupLink: null }), {
    terminal: false,
  });
  for (
    const line of [
      "Console  http://127.0.0.1:9090 ",
      "Phones   http://127.0.0.1:9090/device ",
      "open http://localhost:9090\n",
    ]
  ) {
    assertStringIncludes(text, line);
  }
});

async function withFirstStart(
  facts: Partial<BannerFacts>,
  body: (state: { facts: BannerFacts; file: string; read: () => Promise<string | null> }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "first-start-" });
  const { config, ...others } = factsOf("", facts);
  const moved = { ...others, config: { ...config, server: { ...config.server, dataDir: folder } } };
  const file = `${folder}/first-start.txt`;
  const read = () =>
    Deno.readTextFile(file).catch((fault: unknown) => {
      if (fault instanceof Deno.errors.NotFound) return null;
      throw fault;
    });
  try {
    await writeFirstStartFile(moved);
    await body({ facts: moved, file, read });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("removeSetUpLink() removes the used link from first-start.txt and leaves the secret, in a private file", async () => {
  await withFirstStart({}, async ({ facts, file, read }) => {
    const before = await read() ?? "";
    assertStringIncludes(before, LINK);
    await removeSetUpLink(facts.config);
    const after = await read() ?? "";
    assertStringIncludes(after, `RADIUS shared secret: ${SECRET}`);
    assertEquals([after.includes(LINK), after.includes("set-up link")], [false, false]);
    assertEquals(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
    await removeSetUpLink(facts.config);
    assertEquals(await read(), after);
  });
});

Deno.test("removeSetUpLink() removes first-start.txt when it contains nothing else, and does nothing without one", async () => {
  await withFirstStart({ generatedSecret: null }, async ({ facts, read }) => {
    assertStringIncludes(await read() ?? "", LINK);
    await removeSetUpLink(facts.config);
    assertEquals(await read(), null);
    await removeSetUpLink(facts.config);
    assertEquals(await read(), null);
  });
});

Deno.test("removeSetUpLink() does not change a first-start.txt without a link", async () => {
  await withFirstStart({ setupLink: null }, async ({ facts, read }) => {
    const before = await read();
    await removeSetUpLink(facts.config);
    assertEquals([await read(), before?.includes(SECRET)], [before, true]);
  });
});

Deno.test("bannerText() warns that any client address is accepted while there is no client", () => {
  const note = "any client address is accepted with the shared RADIUS secret";
  assertStringIncludes(bannerText(factsOf(""), { terminal: false }), note);
  assertEquals(bannerText(factsOf(CLIENT), { terminal: false }).includes(note), false);
});

Deno.test("unsignedNotes() describes a sender from any address, and names a client", () => {
  assertStringIncludes(unsignedNotes(["any"]).join(), "unsigned requests of any address are accepted");
  assertStringIncludes(unsignedNotes(["vpn"]).join(), "unsigned requests of vpn are accepted");
});

const LINKS: Readonly<Record<string, string>> = {
  "http://127.0.0.1:18080/setup#token": "http://localhost:18080/setup#token",
  "https://[::1]": "https://localhost",
  "http://127.0.0.1.example.org/setup#token": "http://127.0.0.1.example.org/setup#token",
  "http://192.0.2.1:8080/setup#token": "http://192.0.2.1:8080/setup#token",
  "https://gate.example.org/setup#token": "https://gate.example.org/setup#token",
};
for (const [link, expected] of Object.entries(LINKS)) {
  Deno.test(`localLink() of ${link}`, () => assertEquals(localLink(link), expected));
}
