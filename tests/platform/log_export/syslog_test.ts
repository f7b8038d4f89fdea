// Syslog: messages (RFC 5424) with values that a sender of logins chooses, and the channels over TLS and UDP.

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type EcsRecord, toEcsRecord } from "../../../platform/log_export/ecs_fields.ts";
import { ChannelFault } from "../../../platform/log_export/log_channel.ts";
import {
  encodeSyslog,
  frameSyslog,
  SyslogTlsChannel,
  SyslogUdpChannel,
  type TlsConnection,
} from "../../../platform/log_export/syslog.ts";
import fc from "../../packages/fast_check.ts";
import { createManualClock, settle } from "../../upstream/manual_clock.ts";

const OBSERVER = { hostName: "gate.example.com", version: "0.1.0" };
const OPTIONS = { format: "json", facility: 10, maxOctets: 8192 } as const;
const VALUE = {
  ...{ atMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678), action: "login.rejected", actor: "radius" },
  ...{
    object: "user:ada",
    client: "vpn",
    source: "192.0.2.1",
    caller: "198.51.100.7",
    because: "wrong_number",
  },
};
const fieldsOf = (value: Record<string, unknown>) =>
  toEcsRecord({ id: "0abcdefghij1a2b", value }, { observer: OBSERVER });
const textOf = (octets: Uint8Array) => new TextDecoder("utf-8", { fatal: true }).decode(octets);

Deno.test("a JSON message has the header of RFC 5424, the origin, and one object", () => {
  const text = textOf(encodeSyslog(fieldsOf(VALUE), OPTIONS));
  const begin = "<84>1 2026-01-02T03:04:05.678Z gate.example.com countersign - login.rejected " +
    '[origin software="Countersign" swVersion="0.1.0"] ';
  assertEquals(text.slice(0, begin.length), begin);
  const { event, user, source, client, countersign } = JSON.parse(text.slice(begin.length));
  assertEquals([event.action, event.outcome, event.reason], ["login.rejected", "failure", "wrong_number"]);
  assertEquals([user.name, source.ip, client.ip], ["ada", "198.51.100.7", "192.0.2.1"]);
  assertEquals(countersign.client, "vpn");
});

Deno.test("structured data has the fields as parameters, escaped", () => {
  const value = { ...VALUE, object: 'user:a"b]c\\d\ne' };
  const text = textOf(encodeSyslog(fieldsOf(value), { ...OPTIONS, format: "structured_data" }));
  assert(text.includes(' user.name="a\\"b\\]c\\\\d e"'), text);
  assert(text.includes(' event.category="authentication"'), text);
  assert(!text.includes("\n"));
});

/** The priority is facility * 8 + severity (RFC 5424 §6.2.1). */
const PRIORITIES: readonly (readonly [string, number, string])[] = [
  ["login.accepted", 10, "<86>"],
  ["login.rejected", 10, "<84>"],
  ["user.created", 13, "<109>"],
  ["user.not_me", 4, "<33>"],
];
for (const [action, facility, priority] of PRIORITIES) {
  Deno.test(`${action} with the facility ${facility} has the priority ${priority}`, () => {
    assertEquals(
      textOf(encodeSyslog(fieldsOf({ ...VALUE, action }), { ...OPTIONS, facility })).slice(
        0,
        priority.length,
      ),
      priority,
    );
  });
}

Deno.test("a message that is too long loses its dispensable fields, and says so", () => {
  const long = {
    ...VALUE,
    before: "x".repeat(5000),
    after: { text: "y".repeat(5000) },
    phone: "p".repeat(500),
  };
  const octets = encodeSyslog(fieldsOf(long), { ...OPTIONS, maxOctets: 2048 });
  assert(octets.length <= 2048);
  const text = textOf(octets);
  const { countersign, user } = JSON.parse(text.slice(text.indexOf("{")));
  assertEquals([countersign.truncated, countersign.before, user.name], [true, undefined, "ada"]);
});

Deno.test("a frame begins with the number of octets", () => {
  assertEquals(textOf(frameSyslog(new TextEncoder().encode("<1>ä"))), "5 <1>ä");
});

const HOSTILE = fc.record({
  object: fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constant("user:__proto__"),
    fc.string({ minLength: 3000, maxLength: 4000 }),
  ),
  actor: fc.string({ unit: "binary" }),
  caller: fc.oneof(fc.string(), fc.constantFrom("::1", "192.0.2.256", "fe80::1%eth0")),
  because: fc.oneof(fc.array(fc.string()), fc.integer(), fc.constant(null)),
  action: fc.oneof(fc.string(), fc.constantFrom("login.accepted", "constructor", "__proto__.x", "")),
  atMs: fc.oneof(fc.double(), fc.constant("x"), fc.constant(Infinity)),
  before: fc.anything({ maxDepth: 2 }).filter((one) => typeof one !== "bigint"),
});

const ORIGIN = '[origin software="Countersign" swVersion="0.1.0"]';
/** Two elements with quoted values (RFC 5424 §6.3), and a message. */
const WHOLE_ELEMENTS =
  /^<\d+>1 \S+ \S+ \S+ \S+ \S+ (?:\[[^\s=\]"]+(?: [^\s=\]"]{1,32}="(?:[^"\\\]]|\\["\\\]])*")*\]){2} /u;

Deno.test("a datagram with long names is whole JSON, and names that it is not complete", () => {
  // An attacker chooses User-Name and Calling-Station-Id. As JSON, each control character has six octets.
  const value = { ...VALUE, object: `user:${"\u0001".repeat(253)}`, caller: "\u0002".repeat(253) };
  for (const format of ["json", "structured_data"] as const) {
    const octets = encodeSyslog(fieldsOf(value), { ...OPTIONS, format, maxOctets: 2048 });
    assert(octets.length <= 2048);
    const text = textOf(octets);
    if (format === "structured_data") assertMatch(text, WHOLE_ELEMENTS);
    else {
      const { countersign, event, user } = JSON.parse(text.slice(text.indexOf("{")));
      assertEquals([countersign.truncated, event.action, event.reason], [
        true,
        "login.rejected",
        "wrong_number",
      ]);
      assertMatch(user.name.replaceAll("\u0001", "x"), /^x{30,}…$/);
    }
  }
});

Deno.test("a JSON message is US-ASCII, and a text that is not begins with the byte order mark", () => {
  const value = { ...VALUE, object: "user:zoë\u0085\u2028👩" };
  const json = textOf(encodeSyslog(fieldsOf(value), OPTIONS));
  assertMatch(json, /^[\x20-\x7e]+$/);
  assertEquals(JSON.parse(json.slice(json.indexOf("{"))).user.name, "zoë\u0085\u2028👩");
  const marked = encodeSyslog(fieldsOf(value), { ...OPTIONS, format: "structured_data" });
  assert(marked.toHex().includes(`5d20efbbbf${new TextEncoder().encode("login.rejected user:zoë").toHex()}`));
  const plain = encodeSyslog(fieldsOf(VALUE), { ...OPTIONS, format: "structured_data" });
  assert(!plain.toHex().includes("efbbbf"));
});

Deno.test("any record is one line of valid UTF-8 within the limit, in both formats", () => {
  fc.assert(
    fc.property(
      HOSTILE,
      fc.constantFrom("json", "structured_data"),
      fc.constantFrom(480, 2048, 8192),
      (value, format, maxOctets) => {
        let before: unknown = null;
        try {
          before = JSON.parse(JSON.stringify(value.before) ?? "null");
        } catch (_notJson) {
          before = null;
        }
        const octets = encodeSyslog(fieldsOf({ ...value, before }), {
          format: format as "json",
          facility: 10,
          maxOctets,
        });
        assert(octets.length <= maxOctets);
        const text = textOf(octets);
        assertMatch(text, /^<\d{1,3}>1 \S+ gate\.example\.com countersign - \S+ \[origin /);
        assert(!/[\p{Cc}]/u.test(text));
        if (maxOctets < 2048) return;
        const message = text.slice(text.indexOf(`${ORIGIN} `) + ORIGIN.length);
        if (format === "json") assertEquals(typeof JSON.parse(message).event.id, "string");
        else assertMatch(text, WHOLE_ELEMENTS);
      },
    ),
    { numRuns: 500, seed: 14 },
  );
});

// Syslog over TLS to a receiver that a test controls: frames, the closing handshake as the confirmation, and receivers with problems.

const TLS_SETTINGS = {
  ...{ host: "logs.example.com", port: 6514, ca: "", certificate: "", privateKey: "" },
  ...{ format: "json", facility: 10 } as const,
};

function record(object: string, more: Record<string, unknown> = {}): EcsRecord {
  const value = { atMs: 1_800_000_000_000, action: "user.created", actor: "scim:hr", object, ...more };
  return toEcsRecord({ id: `${object}-id`, value }, { observer: { hostName: "gate", version: "0" } });
}

/** One connection. The test ends it. */
class FakeConnection implements TlsConnection {
  readonly written: Uint8Array[] = [];
  isWriteClosed = false;
  isClosed = false;
  isSlow = false;
  /** The octets that one write takes. */
  takes = Infinity;
  readonly #end = Promise.withResolvers<"closed" | "reset" | "cut">();
  onCloseWrite: () => void = () => undefined;

  handshake(): Promise<void> {
    return Promise.resolve();
  }
  write(octets: Uint8Array): Promise<number> {
    if (this.isSlow) return new Promise(() => undefined);
    const taken = octets.slice(0, this.takes);
    this.written.push(taken);
    return Promise.resolve(taken.length);
  }
  async read(): Promise<number | null> {
    const end = await this.#end.promise;
    if (end === "reset") throw new Deno.errors.ConnectionReset("connection reset");
    if (end === "cut") throw new Deno.errors.UnexpectedEof("no close_notify");
    return null;
  }
  closeWrite(): Promise<void> {
    this.isWriteClosed = true;
    this.onCloseWrite();
    return Promise.resolve();
  }
  close(): void {
    this.isClosed = true;
    this.#end.resolve("closed");
  }
  end(how: "closed" | "reset" | "cut"): void {
    this.#end.resolve(how);
  }
  get octets(): Uint8Array {
    return Uint8Array.from(this.written.flatMap((octets) => [...octets]));
  }
}

function openTls(connections: readonly (FakeConnection | Error | "never")[]) {
  const clock = createManualClock();
  const options: Deno.ConnectTlsOptions[] = [];
  let at = 0;
  const channel = new SyslogTlsChannel({
    clock,
    connect: (given) => {
      options.push(given);
      const next = connections[at++];
      if (next === "never") return new Promise(() => undefined);
      return next instanceof FakeConnection
        ? Promise.resolve(next)
        : Promise.reject(next ?? new Error("refused"));
    },
  }, TLS_SETTINGS);
  /** Lets a task run while the clock advances. */
  const passing = async <T>(task: Promise<T>, totalMs: number): Promise<T> => {
    task.catch(() => undefined);
    for (let passedMs = 0; passedMs < totalMs; passedMs += 500) {
      await settle();
      clock.advance(500);
    }
    return await task;
  };
  return { clock, channel, options, passing };
}

async function codeOf(task: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => task, ChannelFault)).code;
}

Deno.test("messages are framed by their octets, also if a write takes only a part", async () => {
  const receiver = new FakeConnection();
  receiver.takes = 100;
  const { channel } = openTls([receiver]);
  await channel.send([record("user:ädä"), record("user:b")]);
  let rest = receiver.octets;
  const messages: string[] = [];
  while (rest.length > 0) {
    const space = rest.indexOf(0x20);
    assert(space > 0);
    const length = Number(new TextDecoder().decode(rest.slice(0, space)));
    messages.push(new TextDecoder().decode(rest.slice(space + 1, space + 1 + length)));
    rest = rest.slice(space + 1 + length);
  }
  assertEquals(messages.map((text) => JSON.parse(text.slice(text.indexOf("{"))).user.target.name), [
    "ädä",
    "b",
  ]);
});

for (const how of ["closed", "cut"] as const) {
  Deno.test(`a receiver that then closes its side (${how}) has the records`, async () => {
    const receiver = new FakeConnection();
    receiver.onCloseWrite = () => receiver.end(how);
    const { channel, passing } = openTls([receiver]);
    await channel.send([record("user:a")]);
    await passing(channel.confirm(), 2000);
    assertEquals([receiver.isWriteClosed, receiver.isClosed], [true, true]);
  });
}

Deno.test("a receiver that closes first may not have the last records", async () => {
  const receiver = new FakeConnection();
  const { channel, passing } = openTls([receiver]);
  await channel.send([record("user:a")]);
  const confirming = channel.confirm();
  receiver.end("closed");
  assertEquals(await codeOf(passing(confirming, 2000)), "connection_lost");
  assertEquals(receiver.isClosed, true);
});

Deno.test("a reset after the end of this side is a lost connection", async () => {
  const receiver = new FakeConnection();
  receiver.onCloseWrite = () => receiver.end("reset");
  const { channel, passing } = openTls([receiver]);
  await channel.send([record("user:a")]);
  assertEquals(await codeOf(passing(channel.confirm(), 2000)), "connection_lost");
});

Deno.test("a receiver that never closes counts if it accepts another connection", async () => {
  const [first, second] = [new FakeConnection(), new FakeConnection()];
  const { channel, passing } = openTls([first, second]);
  await channel.send([record("user:a")]);
  await passing(channel.confirm(), 15_000);
  assertEquals([first.isClosed, second.isClosed, second.written.length], [true, true, 0]);
});

Deno.test("a receiver that never closes and accepts no other connection has not confirmed", async () => {
  const receiver = new FakeConnection();
  const { channel, passing } = openTls([receiver, new Error("Connection refused")]);
  await channel.send([record("user:a")]);
  assertEquals(await codeOf(passing(channel.confirm(), 15_000)), "not_confirmed");
});

Deno.test("a receiver that does not read is slow, and the connection ends", async () => {
  const receiver = new FakeConnection();
  receiver.isSlow = true;
  const { channel, passing } = openTls([receiver]);
  assertEquals(await codeOf(passing(channel.send([record("user:a")]), 31_000)), "slow");
  channel.close();
  assertEquals(receiver.isClosed, true);
});

Deno.test("a connection that ended is noticed at the next record", async () => {
  const receiver = new FakeConnection();
  const { channel } = openTls([receiver]);
  await channel.send([record("user:a")]);
  receiver.end("reset");
  await settle();
  assertEquals(await codeOf(channel.send([record("user:b")])), "connection_lost");
});

Deno.test("no connection in time", async () => {
  const { channel, passing } = openTls(["never"]);
  assertEquals(await codeOf(passing(channel.send([record("user:a")]), 11_000)), "timeout");
});

const REFUSALS: readonly (readonly [string, string])[] = [
  ["Connection refused (os error 111)", "unreachable"],
  ["failed to lookup address information: Name or service not known", "name_not_found"],
  ["invalid peer certificate: UnknownIssuer", "certificate"],
  ["received fatal alert: CertificateRequired", "certificate"],
  ["something else", "unreachable"],
];

for (const [message, code] of REFUSALS) {
  Deno.test(`a connection that fails with "${message}" is ${code}`, async () => {
    const { channel } = openTls([new Error(message)]);
    assertEquals(await codeOf(channel.send([record("user:a")])), code);
  });
}

Deno.test("authorities and the client certificate are used", async () => {
  const receiver = new FakeConnection();
  const options: unknown[] = [];
  const channel = new SyslogTlsChannel({
    clock: createManualClock(),
    connect: (given) => {
      options.push(given);
      return Promise.resolve(receiver);
    },
  }, { ...TLS_SETTINGS, ca: "CA", certificate: "CERT", privateKey: "KEY" });
  await channel.send([record("user:a")]);
  assertEquals(options, [
    { hostname: "logs.example.com", port: 6514, caCerts: ["CA"], cert: "CERT", key: "KEY" },
  ]);
});

// Syslog over UDP: one message per datagram, no longer than receivers accept, and sockets that fail.

const UDP_SETTINGS = { host: "192.0.2.9", port: 514, format: "json", facility: 10 } as const;

function longRecord(object: string): EcsRecord {
  const value = { atMs: 1, action: "user.created", actor: "scim:hr", object, before: "x".repeat(3000) };
  return toEcsRecord({ id: `${object}-id`, value }, { observer: { hostName: "gate", version: "0" } });
}

function openUdp(send: (octets: Uint8Array) => Promise<number>) {
  const sent: [string, number][] = [];
  const opened: boolean[] = [];
  let pauses = 0;
  const channel = new SyslogUdpChannel({
    clock: {
      after(_delayMs, task) {
        pauses++;
        queueMicrotask(task);
        return () => undefined;
      },
    },
    open(isIpv6) {
      opened.push(isIpv6);
      return {
        send(octets, to) {
          sent.push([`${to.hostname}:${to.port}`, octets.length]);
          return send(octets);
        },
        close: () => undefined,
      };
    },
  }, UDP_SETTINGS);
  return { channel, sent, opened, pauses: () => pauses };
}

Deno.test("each longRecord is one datagram of at most 2,048 octets, and a backlog is sent with pauses", async () => {
  const { channel, sent, opened, pauses } = openUdp((octets) => Promise.resolve(octets.length));
  await channel.send(Array.from({ length: 30 }, (_, at) => longRecord(`user:${at}`)));
  await channel.confirm();
  assertEquals(sent.length, 30);
  assert(sent.every(([to, length]) => to === "192.0.2.9:514" && length <= 2048));
  assertEquals([opened, pauses()], [[false], 3]);
});

Deno.test("a socket that fails is opened again", async () => {
  let isBroken = true;
  const { channel, opened } = openUdp((octets) =>
    isBroken ? Promise.reject(new Error("No route to host")) : Promise.resolve(octets.length)
  );
  const fault = await assertRejects(() => channel.send([longRecord("user:a")]), ChannelFault);
  assertEquals(fault.code, "unreachable");
  isBroken = false;
  await channel.send([longRecord("user:a")]);
  assertEquals(opened.length, 2);
  channel.close();
});
