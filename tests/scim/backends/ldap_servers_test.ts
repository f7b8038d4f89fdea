// Several servers of an LDAP backend: the order of preference, the share of the deadline, and the tests of servers.

import { assert, assertEquals } from "@std/assert";
import {
  BackendError,
  localError,
  refusedError,
  unreachableError,
} from "../../../scim/backends/backend_error.ts";
import { createLdapBackend } from "../../../scim/backends/ldap/ldap_backend.ts";
import { LdapServers } from "../../../scim/backends/ldap/ldap_pool.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { systemClock } from "../../../platform/runtime.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { startSlapd } from "../../support/slapd.ts";
import { createManualClock, settle } from "../../upstream/manual_clock.ts";
import { ldapSettings } from "./ldap_settings.ts";
import { silentLog } from "./silent_log.ts";
import { readContent, user, value } from "./suite.ts";

const [ONE, TWO, THREE] = ["ldaps://dc1:636", "ldaps://dc2:636", "ldaps://dc3:636"] as const;
const URLS = [ONE, TWO, THREE];

/** Servers that fail with these errors, for requests and for tests. */
function world(urls: readonly string[] = URLS) {
  const clock = createManualClock();
  const failing = new Map<string, BackendError>();
  const tested: string[] = [];
  const fail = (url: string) => {
    const error = failing.get(url);
    return error === undefined ? Promise.resolve() : Promise.reject(error);
  };
  const servers = new LdapServers({
    ...{ backend: "corp", urls, timeoutMs: 3000, clock, log: silentLog() },
    test(url) {
      tested.push(url);
      return fail(url);
    },
  });
  const asked: (readonly [url: string, shareMs: number])[] = [];
  const use = (tookMs = 0) => {
    asked.length = 0;
    return servers.use(async (url, untilMs) => {
      asked.push([url, untilMs - clock.nowMs()]);
      clock.advance(tookMs);
      await fail(url);
      return url;
    }, clock.nowMs() + 3000);
  };
  const states = () => servers.status().map(({ state }) => state);
  return { clock, servers, failing, tested, asked, use, states };
}

const SILENT = unreachableError("no answer");
const thrownBy = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise;
    return null;
  } catch (thrown) {
    return thrown;
  }
};

Deno.test("LdapServers asks the first server, and the next one in its share of the time", async () => {
  const { use, asked, failing, servers } = world();
  assertEquals([await use(), asked], [ONE, [[ONE, 1000]]]);
  failing.set(ONE, SILENT);
  assertEquals([await use(1000), asked], [TWO, [[ONE, 1000], [TWO, 1000]]]);
  servers.close();
});

Deno.test("LdapServers tests a server that failed, and leaves it out of logins while the test fails", async () => {
  const { use, asked, failing, tested, states, clock, servers } = world();
  await use();
  failing.set(ONE, SILENT);
  await use();
  clock.advance(0);
  await settle();
  assertEquals([tested, states()], [[ONE], ["down", "answers", "unknown"]]);
  assertEquals([await use(), asked], [TWO, [[TWO, 1500]]]);
  assertEquals(servers.status()[0], {
    ...{ server: "dc1:636", state: "down", lastAnswerMs: clock.nowMs(), fault: "no answer" },
  });
  // It answers again. No login was needed to notice it.
  failing.delete(ONE);
  clock.advance(10_000);
  await settle();
  assertEquals([await use(), states()[0]], [ONE, "answers"]);
  servers.close();
});

Deno.test("LdapServers tests an idle standby each minute, so that its failure is known before it is needed", async () => {
  const { clock, failing, tested, states, servers } = world([ONE, TWO]);
  failing.set(TWO, SILENT);
  clock.advance(59_000);
  await settle();
  assertEquals(tested, []);
  for (let count = 0; count < 7; count++) {
    clock.advance(10_000);
    await settle();
  }
  assert(tested.filter((url) => url === TWO).length >= 1, String(tested));
  assertEquals(states(), ["answers", "down"]);
  servers.close();
});

Deno.test("LdapServers asks all servers, in order, if all are down", async () => {
  const { use, asked, failing, states, clock, servers } = world([ONE, TWO]);
  for (const url of [ONE, TWO]) failing.set(url, SILENT);
  assertEquals(await thrownBy(use()), SILENT);
  clock.advance(0);
  await settle();
  assertEquals(states(), ["all_down", "all_down"]);
  assertEquals(await thrownBy(use()), SILENT);
  assertEquals(asked.map(([url]) => url), [ONE, TWO]);
  failing.delete(TWO);
  assertEquals(await use(), TWO);
  servers.close();
});

/** Which errors of the first server lead to the second one. */
const ERRORS: readonly (readonly [string, BackendError, boolean])[] = [
  ["no connection", SILENT, true],
  ["its share of the time is over", localError("busy", "the deadline passed"), true],
  ["a write that may have happened", unreachableError("lost", { unsure: true }), false],
  ["a refused request", refusedError("no such base"), false],
];

for (const [what, error, isNextAsked] of ERRORS) {
  Deno.test(`LdapServers ${isNextAsked ? "asks" : "does not ask"} the next server after: ${what}`, async () => {
    const { use, asked, failing, servers } = world([ONE, TWO]);
    failing.set(ONE, error);
    const thrown = await thrownBy(use());
    assertEquals([thrown, asked.length], isNextAsked ? [null, 2] : [error, 1]);
    servers.close();
  });
}

Deno.test("LdapServers never tests a single server by itself", async () => {
  const { use, failing, tested, clock, servers } = world([ONE]);
  failing.set(ONE, SILENT);
  await thrownBy(use());
  clock.advance(120_000);
  await settle();
  assertEquals(tested, []);
  servers.close();
});

testNeeding(
  { peers: ["slapd"] },
  "createLdapBackend() continues at the second slapd, and returns to the first",
  async () => {
    const [first, second] = [await startSlapd(), await startSlapd()];
    const deaf = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const settings = ldapSettings(first, { url: [first.url, second.url], timeoutMs: 4000 });
    const deps = { mapping: createMapping({ user: {}, group: {} }), clock: systemClock, log: silentLog() };
    const backend = createLdapBackend({ ...deps, settings });
    const url = [`ldap://127.0.0.1:${(deaf.addr as Deno.NetAddr).port}`, second.url];
    const behindDeaf = createLdapBackend({ ...deps, settings: { ...settings, url } });
    const only = createLdapBackend({ ...deps, settings: ldapSettings(second) });
    const verify = async (one: typeof backend, password: string) => {
      const outcome = await one.verify?.("anna", new TextEncoder().encode(password));
      return outcome === undefined ? null : value(outcome);
    };
    try {
      for (const one of [backend, only]) value(await one.put({ content: user("anna"), password: "right" }));
      assertEquals(await verify(backend, "right"), "right");
      await first.stop();
      // The kept connections are lost. The same login continues at the second server.
      assertEquals(await verify(backend, "right"), "right");
      value(await backend.probe());
      assertEquals(backend.servers?.().map(({ state }) => state), ["down", "answers"]);
      await first.start();
      value(await backend.probe());
      assertEquals(backend.servers?.().map(({ state }) => state), ["answers", "answers"]);
      value(await backend.put({ content: user("berta") }));
      assertEquals(await readContent(only, { kind: "user", name: "berta" }), null);
      // A server that accepts the connection and says nothing costs only its share of the time.
      assertEquals(await verify(behindDeaf, "wrong"), "wrong");
    } finally {
      deaf.close();
      await Promise.all([backend.close(), behindDeaf.close(), only.close()]);
      await Promise.all([first.dispose(), second.dispose()]);
    }
  },
);

/** A way to a slapd on which requests that contain `secret` are not answered. `seen` has the number of those requests. */
function startPath(to: string, { secret, does }: { secret: string; does: "stays_silent" | "closes" }) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const path = {
    url: `ldap://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`,
    seen: 0,
    close() {
      listener.close();
      for (const one of open) one.close();
    },
  };
  const relay = async (client: Deno.Conn) => {
    const server = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(to).port) });
    open.add(client).add(server);
    server.readable.pipeTo(client.writable, { preventClose: true }).catch(() => undefined);
    const buffer = new Uint8Array(4096);
    for (let read = await client.read(buffer); read !== null; read = await client.read(buffer)) {
      const octets = buffer.slice(0, read);
      if (!new TextDecoder().decode(octets).includes(secret)) await server.write(octets);
      else {
        path.seen++;
        if (does === "closes") break;
      }
    }
    for (const one of [client, server]) {
      if (open.delete(one)) one.close();
    }
  };
  void (async () => {
    for await (const client of listener) relay(client).catch(() => undefined);
  })();
  return path;
}

for (const does of ["stays_silent", "closes"] as const) {
  testNeeding(
    { peers: ["slapd"] },
    `createLdapBackend() sends a password once: the first server ${does}, the next one is not asked`,
    async () => {
      const slapd = await startSlapd();
      const paths = [1, 2].map(() => startPath(slapd.url, { secret: "a guess", does }));
      const settings = ldapSettings(slapd, { url: paths.map(({ url }) => url), timeoutMs: 1500 });
      const backend = createLdapBackend({
        ...{
          settings,
          mapping: createMapping({ user: {}, group: {} }),
          clock: systemClock,
          log: silentLog(),
        },
      });
      try {
        value(await backend.put({ content: user("anna"), password: "right" }));
        const verify = async (password: string) =>
          await backend.verify?.("anna", new TextEncoder().encode(password));
        assertEquals((await verify("right"))?.ok, true);
        // On a kept connection, and then on a new one.
        for (const sent of [1, 2]) {
          const outcome = await verify("a guess");
          assertEquals(
            outcome?.ok === false && outcome.fault.detail.includes("it may have been counted"),
            true,
          );
          assertEquals(paths.reduce((sum, { seen }) => sum + seen, 0), sent);
        }
      } finally {
        await backend.close();
        for (const path of paths) path.close();
        await slapd.dispose();
      }
    },
  );
}
